"""A fake provider, a real client of it, and agents from prompt files that a test writes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel

from kds.agents import Agent, AgentReply, AgentRunnable, load_chat_model
from kds.brain.settings import ModelSettings
from kds.router.prompts.library import PromptLibrary

from ..effort import PATIENCE_S
from .openai_server import MODEL, FakeProvider, serving

MakeAgent = Callable[..., Agent]

PLANNER = """\
---
name: work-planner
description: Plans new work.
intent: PLAN
handoffs: [EXECUTE]
inputs: [expanded]
---
Plan this: {{ expanded }}
"""

EXECUTOR = """\
---
name: code-executor
description: Does the work.
intent: EXECUTE
inputs: [expanded, intent]
---
Do this as {{ intent }}: {{ expanded }}
"""


class Recorder(BaseCallbackHandler):
    """Writes down what LangChain tells of a run."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.seen.append(("chain", kwargs["name"], kwargs["tags"]))

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.seen.append(("model", kwargs["parent_run_id"] is not None))

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.seen.append(
            ("end", outputs.text if isinstance(outputs, AgentReply) else outputs.message)
        )

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self.seen.append(("error", type(error).__name__))


@pytest.fixture(scope="session")
def library() -> PromptLibrary:
    """The packaged prompts, read once."""
    return PromptLibrary.load()


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """A fake OpenAI-compatible provider on loopback; see `openai_server`."""
    with serving() as fake:
        yield fake


@pytest.fixture
def model(provider: FakeProvider) -> BaseChatModel:
    """The real client of the fake provider; it does not try again."""
    name = f"{provider.url}#{MODEL}"
    made = load_chat_model(
        ModelSettings(name=name, max_retries=0, timeout_s=PATIENCE_S), environ={}
    )
    assert made is not None
    return made


@pytest.fixture
def make_agent(tmp_path: Path) -> MakeAgent:
    """Makes an agent of a prompt file; PLAN and EXECUTE are there without being written."""

    def make(name: str = "PLAN", text: str | None = None) -> Agent:
        folder = tmp_path / "prompts" / "internal"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "work-planner.md").write_text(PLANNER)
        (folder / "code-executor.md").write_text(EXECUTOR)
        if text is not None:
            (folder / f"{name}.md").write_text(text)
        library = PromptLibrary.load(packaged=tmp_path / "prompts")
        return Agent.named(name, library, workspace="/w")

    return make


@pytest.fixture
def planner(make_agent: MakeAgent, model: BaseChatModel) -> AgentRunnable:
    """The agent of PLAN, with the model."""
    return make_agent().as_runnable(model, timeout_s=PATIENCE_S)
