"""The HTTP clients that models are asked with: they follow no redirect, and read no endless answer.

The SDKs of the providers would follow a redirect to any host, with the prompt in it; and they hold
a line of an answer in memory until it ends, whoever sends it.
"""

import atexit
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from kds.agents.model_error import ModelError

PART_BYTES: Final = 8 * 2**20
"""Of one event of a stream, or of an answer that comes whole. An answer may have a million
characters (`kds.agents.run.TEXT_CHARS`), which JSON writes in at most 6 MB."""

STREAM_BYTES: Final = 64 * 2**20
"""Of all events of a stream: each token comes in about 250 bytes of JSON, so 250,000 tokens."""

_ENDS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "text/event-stream": (b"\n\n", b"\r\n\r\n", b"\r\r"),
    "application/x-ndjson": (b"\n",),
}
"""What ends an event of a stream, by the kind of its content."""

_LONGEST_END: Final = 4

Options = dict[str, Any]

_sync_clients: Final[list[Any]] = []


@cache
def sync_client(base: Callable[..., Any], proxy: str | None = None) -> Any:
    """A client of the SDK's own kind ``base``, shared by all models: it holds connections.

    It is closed when the process ends, or before by `close_clients`.
    """
    client = base(**sync_options(proxy))
    _sync_clients.append(client)
    return client


@atexit.register
def close_clients() -> None:
    """Close the connections of all models; a model that is made afterwards opens new ones."""
    sync_client.cache_clear()
    while _sync_clients:
        _sync_clients.pop().close()


@cache
def async_client(base: Callable[..., Any], proxy: str | None = None) -> Any:
    """As `sync_client`, for event loops; only the loop that used it could close it."""
    return base(**async_options(proxy))


def sync_options(proxy: str | None = None) -> Options:
    """The options of an httpx client that keeps to these limits."""
    return _options(limit_sync, proxy)


def async_options(proxy: str | None = None) -> Options:
    """As `sync_options`, for a client in an event loop."""
    return _options(limit_async, proxy)


def _options(hook: Callable[[Any], object], proxy: str | None) -> Options:
    options: Options = {"follow_redirects": False, "event_hooks": {"response": [hook]}}
    return options if proxy is None else {**options, "proxy": proxy}


def limit_sync(response: Any) -> None:
    """Have ``response`` (of httpx or httpx2) fail when it goes beyond the limits."""
    read, meter = response.iter_bytes, _Meter(response.headers.get("content-type", ""))

    def limited(chunk_size: int | None = None) -> Iterator[bytes]:
        for chunk in read(chunk_size):
            meter.count(chunk)
            yield chunk

    response.iter_bytes = limited


async def limit_async(response: Any) -> None:
    """As `limit_sync`."""
    read, meter = response.aiter_bytes, _Meter(response.headers.get("content-type", ""))

    async def limited(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        async for chunk in read(chunk_size):
            meter.count(chunk)
            yield chunk

    response.aiter_bytes = limited


class _Meter:
    """Counts what has come, uncompressed: in all, and since the last event ended."""

    def __init__(self, content_type: str) -> None:
        self._ends = _ENDS.get(content_type.partition(";")[0].strip().lower(), ())
        self._all = self._part = 0
        self._tail = b""

    def count(self, chunk: bytes) -> None:
        """Take the next bytes; raises ModelError when they are too many."""
        self._all += len(chunk)
        self._part += len(chunk)
        seen = self._tail + chunk
        end = max((seen.rfind(mark) for mark in self._ends), default=-1)
        if end >= 0:
            self._part = len(seen) - end
        self._tail = seen[1 - _LONGEST_END :]
        limit = PART_BYTES if self._part > PART_BYTES else STREAM_BYTES
        if self._part > PART_BYTES or self._all > STREAM_BYTES:
            message = f"the model's server sends more than {limit // 2**20} MB without an end"
            raise ModelError(message, kind="garbage")
