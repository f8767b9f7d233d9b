"""The HTTP clients that models are asked with: they follow no redirect.

The SDKs of the providers would follow one to any host, with the prompt in it.
"""

import atexit
from collections.abc import Callable
from functools import cache
from typing import Any, Final

Options = dict[str, Any]

OPTIONS: Final[Options] = {"follow_redirects": False}
"""Options of an httpx client."""

_sync_clients: Final[list[Any]] = []


@cache
def sync_client(base: Callable[..., Any], proxy: str | None = None) -> Any:
    """A client of the SDK's own kind ``base``, shared by all models: it holds connections.

    It is closed when the process ends, or before by `close_clients`.
    """
    client = base(**OPTIONS, proxy=proxy)
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
    return base(**OPTIONS, proxy=proxy)
