"""A fake model on loopback: writes down every request, and plays the script it was given.

The script is a list of tool calls. Each is played once, as the answer to the first request that
offers the tool; every other request is answered "ok". So the requests that a client makes on
the side (titles, summaries: they offer no tools) do not use up the script.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from ..agents.openai_server import listening
from .dialects import DIALECTS, Call, Dialect, Json, Reply, strings

DONE = "ok"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the model."""

    dialect: Dialect
    body: Json

    @property
    def tools(self) -> set[str]:
        return self.dialect.tools(self.body)

    @property
    def text(self) -> str:
        """Everything the model would have read of the conversation, system prompt aside."""
        return "\n".join(strings(self.dialect.conversation(self.body)))

    @property
    def newest(self) -> str:
        """The text from the newest message of the user on; Codex adds the hint behind it."""
        said = self.dialect.conversation(self.body)
        last = max((at for at, one in enumerate(said) if one.get("role") == "user"), default=-1)
        return "\n".join(strings(said[last:]))


@dataclass
class FakeModel:
    """What was asked of the model so far, and what it is still going to do."""

    url: str = ""
    script: list[Call] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def turns(self) -> list[Asked]:
        """The requests that offer tools: those of the conversation itself."""
        return [request for request in self.asked if request.tools]

    def play(self, calls: Iterable[Call]) -> None:
        """Start over: forget what was asked, and make these ``calls``."""
        with self._lock:
            self.script, self.asked = list(calls), []

    def answer(self, request: Asked) -> Reply:
        """Write the request down and say what comes next."""
        with self._lock:
            self.asked.append(request)
            for call in self.script:
                if call.tool in request.tools:
                    self.script.remove(call)
                    return call
        return DONE


@contextmanager
def serving(model: FakeModel) -> Iterator[FakeModel]:
    """Serve ``model`` on a free port of loopback."""

    class Handler(_Handler):
        fake = model

    with listening(Handler) as model.url:
        yield model


class _Handler(BaseHTTPRequestHandler):
    fake: FakeModel
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        dialect = next((each for each in DIALECTS if path.endswith(each.paths)), None)
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": 10})
        elif dialect is None:
            self._send({})
        else:
            body = json.loads(raw)
            reply = self.fake.answer(Asked(dialect, body))
            if not body.get("stream") and ":stream" not in path:
                self._send(dialect.whole(body, reply))
                return
            lines = [
                (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
                for name, data in dialect.events(body, reply)
            ]
            ending = f"data: {dialect.ending}\n\n" if dialect.ending else ""
            self._send("".join(lines) + ending, "text/event-stream")

    def _send(self, data: Json | str, kind: str = "application/json") -> None:
        raw = (data if isinstance(data, str) else json.dumps(data)).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: what matters is written down in `FakeModel.asked`."""
