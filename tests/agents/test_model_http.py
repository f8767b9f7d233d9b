"""A model server cannot have the prompt sent elsewhere, and its connections are closed."""

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
from kds.agents.models import close_clients, model_error
from kds.brain.settings import ModelSettings

from ..effort import PATIENCE_S
from .openai_server import FakeProvider, listening

PROVIDERS = ("openai", "anthropic", "ollama")

ASKING = """
from kds.agents import load_chat_model
from kds.brain.settings import ModelSettings
model = load_chat_model(ModelSettings(name="{url}#fake"))
print(model.invoke("hello").content)
"""


@dataclass
class Hostile:
    """A server on loopback that redirects every prompt."""

    moves_to: str = ""
    url: str = ""
    posted: list[bytes] = field(default_factory=list)

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


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_prompt_is_not_sent_on_to_another_host(provider: str, serve: Serve) -> None:
    elsewhere = serve()
    model = serve(moves_to=elsewhere.url).load(provider)
    told = _told(model, "invoke", "a private prompt")
    assert elsewhere.posted == []
    assert (told.kind, told.message.startswith("m refused (307)")) == ("refused", True)


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
