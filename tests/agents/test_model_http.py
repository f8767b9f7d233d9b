"""What a hostile model server cannot do: fill the memory, or have the prompt sent elsewhere."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import pytest
from langchain_core.language_models import BaseChatModel

from kds.agents import ModelError, load_chat_model
from kds.agents.model_error import model_error
from kds.agents.model_http import PART_BYTES, STREAM_BYTES, _Meter, close_clients
from kds.brain.settings import ModelSettings

from ..effort import PATIENCE_S
from .openai_server import FakeProvider, listening

PIECE = b"z" * 65536
LIMIT = PART_BYTES + 20 * 2**20
"""Bytes after which a server gives up: what is on its way through the sockets comes on top."""

PROVIDERS = ("openai", "anthropic", "ollama")
KINDS = ("text/event-stream", "application/json")

ASKING = """
from kds.agents import load_chat_model
from kds.brain.settings import ModelSettings
model = load_chat_model(ModelSettings(name="{url}#fake"))
print(model.invoke("hello").content)
"""


@dataclass
class Hostile:
    """A server on loopback: whatever is posted, it sends on, or never ends its line."""

    moves_to: str = ""
    kind: str = "text/event-stream"
    url: str = ""
    posted: list[bytes] = field(default_factory=list)
    sent: int = 0

    def load(self, provider: str) -> BaseChatModel:
        settings = ModelSettings(
            name=f"{provider}:m", base_url=self.url, max_retries=0, timeout_s=PATIENCE_S
        )
        model = load_chat_model(settings, environ={})
        assert model is not None
        return model


Serve = Callable[..., Hostile]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(**options: str) -> Hostile:
            hostile = Hostile(**options)

            class Handler(_Handler):
                server_of = hostile

            hostile.url = stack.enter_context(listening(Handler))
            return hostile

        yield start


class _Handler(BaseHTTPRequestHandler):
    server_of: Hostile

    def do_POST(self) -> None:
        hostile = self.server_of
        hostile.posted.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.send_response(307 if hostile.moves_to else 200)
        if hostile.moves_to:
            self.send_header("Location", f"{hostile.moves_to}{self.path}?secret=1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_header("Content-Type", hostile.kind)
        self.end_headers()
        self.wfile.write(b'data: {"x":"')
        while hostile.sent < LIMIT:
            self.wfile.write(PIECE)
            hostile.sent += len(PIECE)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def _told(model: BaseChatModel, way: str, text: str = "hello") -> ModelError:
    """What becomes of asking a model that is not to answer."""

    async def read() -> None:
        async for _ in model.astream(text):
            pass

    ways: dict[str, Callable[[], object]] = {
        "invoke": lambda: model.invoke(text),
        "stream": lambda: list(model.stream(text)),
        "astream": lambda: asyncio.run(read()),
    }
    with pytest.raises(Exception) as caught:  # of the provider's client, or ours
        ways[way]()
    return model_error(caught.value, "m", secrets={})


@pytest.mark.parametrize(
    ("provider", "way", "kind"),
    [
        *((provider, "stream", kind) for provider in PROVIDERS for kind in KINDS),
        *((provider, "astream", KINDS[0]) for provider in PROVIDERS),
        ("openai", "invoke", KINDS[1]),
    ],
)
def test_a_line_without_an_end_is_not_held_in_memory(
    provider: str, way: str, kind: str, serve: Serve
) -> None:
    hostile = serve(kind=kind)
    assert "more than 8 MB without an end" in _told(hostile.load(provider), way).message
    assert hostile.sent < LIMIT


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_prompt_is_not_sent_on_to_another_host(provider: str, serve: Serve) -> None:
    elsewhere = serve()
    model = serve(moves_to=elsewhere.url).load(provider)
    told = _told(model, "invoke", "a private prompt")
    assert elsewhere.posted == []
    assert told.message.startswith("m was not asked: its server sends on to ")
    assert provider != "openai" or elsewhere.url in told.message
    assert "secret" not in told.message
    assert "redirect" in (told.hint or "")
    assert told.kind == "setting"


def test_many_small_events_are_no_endless_line() -> None:
    meter = _Meter("text/event-stream; charset=utf-8")
    event = b"data: " + b"x" * 1000 + b"\r\n\r"
    for _ in range(2 * PART_BYTES // len(event)):
        meter.count(event)  # the end of an event may come in two pieces
        meter.count(b"\n")


def test_a_stream_as_a_whole_has_a_limit_too() -> None:
    meter = _Meter("text/event-stream")
    for _ in range(STREAM_BYTES // len(PIECE)):
        meter.count(PIECE[:-2] + b"\n\n")
    with pytest.raises(ModelError, match="64 MB"):
        meter.count(b"x")


def test_the_connections_of_models_are_closed_when_the_process_ends(provider: FakeProvider) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", ASKING.format(url=provider.url)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_models_can_be_asked_after_their_connections_were_closed(provider: FakeProvider) -> None:
    settings = ModelSettings(name=f"{provider.url}#fake")
    for _ in range(2):
        model = load_chat_model(settings, environ={})
        assert model is not None
        assert model.invoke("hello").content == "ok"
        close_clients()
