"""A fake provider on loopback that speaks OpenAI's chat completions; nothing but the stdlib.

    with serving(FakeProvider()) as provider:
        provider.play(Text("Hello."), Failure(429, "slow down"), Calls(("recall", {"query": "x"})))
        ChatOpenAI(base_url=provider.url, api_key="k", model="fake").invoke("hi")
        provider.asked[0].text

Each request to `/v1/chat/completions` takes the next reply of the script; behind its end stands
``default``. A reply may also be a function of what was asked. Whether it is streamed is for the
client to say. Replies that wait (`Slow`, `Stall`, `Trickle`) wait until the client leaves or the
server ends, never for a time.
"""

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any

from ..effort import PATIENCE_S

Json = dict[str, Any]
MODEL = "fake-model"
USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
TRICKLE_S = 0.02
"""Seconds between the pieces of a `Trickle`."""


@dataclass(frozen=True)
class Text:
    """A text; streamed in words."""

    text: str
    finish: str = "stop"


class Calls:
    """Tool calls: ``Calls(("recall", {"query": "x"}), text="Let me see.")``.

    Arguments may be a text, which goes out as it is: broken JSON for example.
    """

    def __init__(self, *calls: tuple[str, Mapping[str, Any] | str], text: str = "") -> None:
        self.calls, self.text = calls, text


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error with the provider's message."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are, with a status and a content type: garbage, HTML, JSON of any shape."""

    body: bytes
    status: int = 200
    kind: str = "application/json"


def garbage() -> Raw:
    """Bytes that are neither JSON nor UTF-8."""
    return Raw(b"\x00\xff\xfe<<<not json>>>\x80")


def wrong_shape(value: Any = None) -> Raw:
    """JSON of the wrong shape: ``value``, or choices that are none."""
    shape = {"id": 7, "choices": "none", "usage": []} if value is None else value
    return Raw(json.dumps(shape).encode())


@dataclass(frozen=True, slots=True)
class Slow:
    """Never answers: not a byte."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Begins to answer (streamed: with this text; else: with half a body), and goes silent."""

    text: str = "Well,"


@dataclass(frozen=True, slots=True)
class Trickle:
    """Streams this text again and again, for ever; not streamed: spaces before a body."""

    text: str = "and "


@dataclass(frozen=True, slots=True)
class Dead:
    """Closes the connection; streamed, after this text."""

    text: str = ""


Reply = Text | Calls | Failure | Raw | Slow | Stall | Trickle | Dead


@dataclass
class Asked:
    """One request to the model."""

    body: Json
    headers: Mapping[str, str]
    """Names in lower case."""

    def __post_init__(self) -> None:
        self.messages: list[Json] = list(self.body.get("messages", ()))
        texts = [_text(message.get("content")) for message in self.messages]
        self.text, self.newest = "\n".join(texts), texts[-1] if texts else ""
        self.tools = [str(tool["function"]["name"]) for tool in self.body.get("tools") or ()]
        self.streamed = bool(self.body.get("stream"))
        self.key = self.headers.get("authorization", "").removeprefix("Bearer ")


Script = Reply | Callable[[Asked], Reply]


@dataclass
class FakeProvider:
    """What was asked so far, and what comes next."""

    script: list[Script] = field(default_factory=list)
    default: Script = field(default_factory=lambda: Text("ok"))
    asked: list[Asked] = field(default_factory=list)
    strays: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """Path and headers of each POST that is none of OpenAI's; it is answered with 404."""
    url: str = ""
    """The base URL, ending in /v1."""
    released: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def play(self, *replies: Script, default: Script | None = None) -> None:
        """Start over: forget what was asked, and make these ``replies`` in order."""
        with self.arrived:
            self.script, self.asked = list(replies), []
            self.default = default if default is not None else self.default

    def answer(self, request: Asked) -> Reply:
        """Write the request down and say what comes next."""
        with self.arrived:
            self.asked.append(request)
            chosen = self.script.pop(0) if self.script else self.default
            self.arrived.notify_all()
        return chosen(request) if callable(chosen) else chosen

    def wait_asked(self, count: int = 1, *, timeout_s: float = PATIENCE_S) -> bool:
        """Wait until ``count`` requests have come in."""
        with self.arrived:
            return self.arrived.wait_for(lambda: len(self.asked) >= count, timeout_s)


@contextmanager
def serving(provider: FakeProvider | None = None) -> Iterator[FakeProvider]:
    """Serve a provider on a free port of loopback."""
    fake = FakeProvider() if provider is None else provider

    class Handler(_Handler):
        provider = fake

    with listening(Handler) as url:
        fake.url = f"{url}/v1"
        try:
            yield fake
        finally:
            fake.released.set()


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], path: Path | None = None) -> Iterator[str]:
    """Serve on loopback, or on a socket at ``path``, as long as the block runs; yields the URL."""
    server: socketserver.BaseServer = _Server(("127.0.0.1", 0), handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    if path is not None:
        server.server_close()
        server, url = socketserver.ThreadingUnixStreamServer(str(path), handler), f"unix:{path}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    provider: FakeProvider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.partition("?")[0] != "/v1/chat/completions":
            self.provider.strays.append((self.path, _lower(self.headers.items())))
            self._send(Failure(404, "no such path", headers={"Connection": "close"}))
            return
        request = Asked(json.loads(raw), _lower(self.headers.items()))
        reply = self.provider.answer(request)
        match reply:
            case Failure() | Raw():
                self._send(reply)
            case Slow():
                self._hold()
            case Dead(""):
                self._hang_up()
            case Stall() | Trickle() | Dead():
                self._endless(request, reply)
            case _ if request.streamed:
                self._stream(request, reply)
            case _:
                self._send(_json(_whole(request, reply)))

    def _send(self, reply: Raw | Failure) -> None:
        headers: Mapping[str, str] = {}
        if isinstance(reply, Failure):
            error = {"message": reply.message, "type": "error", "code": None}
            headers, reply = reply.headers, _json({"error": error}, reply.status)
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def _stream(self, request: Asked, reply: Text | Calls) -> None:
        self._open_stream()
        for chunk in _chunks(request, reply):
            self._event(json.dumps(chunk))
        self._event("[DONE]")
        self._write_chunk(b"")

    def _endless(self, request: Asked, reply: Stall | Trickle | Dead) -> None:
        """Begin an answer as it should be, then stop, go on for ever, or hang up."""
        if request.streamed:
            self._open_stream()
            self._event(json.dumps(_chunk(request, {"role": "assistant", "content": reply.text})))
        else:
            self._head("application/json", "Content-Length", "1000000")
        while isinstance(reply, Trickle) and not self.provider.released.wait(TRICKLE_S):
            if request.streamed:
                self._event(json.dumps(_chunk(request, {"content": reply.text})))
            else:
                self.wfile.write(b" ")
                self.wfile.flush()
        if isinstance(reply, Stall):
            self._hold()
        self._hang_up()

    def _open_stream(self) -> None:
        self._head("text/event-stream", "Transfer-Encoding", "chunked")

    def _head(self, kind: str, name: str, value: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def _event(self, data: str) -> None:
        self._write_chunk(f"data: {data}\n\n".encode())

    def _write_chunk(self, raw: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def _hold(self) -> None:
        self.provider.released.wait()
        self.close_connection = True

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: what matters is written down in `FakeProvider.asked`."""


def _whole(request: Asked, reply: Text | Calls) -> Json:
    content, calls, finish = _parts(reply)
    message: Json = {"role": "assistant", "content": content or None}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {**_head(request, "chat.completion"), "choices": [choice], "usage": USAGE}


def _chunks(request: Asked, reply: Text | Calls) -> Iterator[Json]:
    content, calls, finish = _parts(reply)
    yield _chunk(request, {"role": "assistant", "content": ""})
    for word in _words(content):
        yield _chunk(request, {"content": word})
    for index, call in enumerate(calls):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        opening = {**call, "function": {**call["function"], "arguments": arguments[:half]}}
        yield _chunk(request, {"tool_calls": [{"index": index, **opening}]})
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        yield _chunk(request, {"tool_calls": [rest]})
    yield _chunk(request, {}, finish)
    if (request.body.get("stream_options") or {}).get("include_usage"):
        head = _head(request, "chat.completion.chunk")
        yield {**head, "choices": [], "usage": USAGE}


def _parts(reply: Text | Calls) -> tuple[str, list[Json], str]:
    """The text, the tool calls, and why the model stopped."""
    if isinstance(reply, Text):
        return reply.text, [], reply.finish
    calls = []
    for index, (name, arguments) in enumerate(reply.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": name, "arguments": text}
        calls.append({"id": f"call_{index}", "type": "function", "function": function})
    return reply.text, calls, "tool_calls"


def _chunk(request: Asked, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**_head(request, "chat.completion.chunk"), "choices": [choice]}


def _head(request: Asked, kind: str) -> Json:
    model = request.body.get("model", MODEL)
    return {"id": "chatcmpl-1", "object": kind, "created": int(time.time()), "model": model}


def _words(text: str) -> Sequence[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + [word for word in words[-1:] if word]


def _json(value: Any, status: int = 200) -> Raw:
    return Raw(json.dumps(value).encode(), status)


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
