"""An agent as a Runnable, with the real client of OpenAI against a fake provider."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from kds import agents
from kds.agents import AgentReply, ModelError, Usage, load_chat_model, run
from kds.agents.run import AgentRunnable
from kds.brain.errors import DispatchError, WorkspaceError
from kds.brain.settings import ModelSettings
from kds.brain.timeouts import Deadline
from kds.brain.turn import ContextEntry, Turn
from kds.brain.workspace import Workspace

from ..effort import PATIENCE_S
from .conftest import MakeAgent, Recorder
from .openai_server import (
    Dead,
    Failure,
    FakeProvider,
    Reply,
    Slow,
    Stall,
    Text,
    Trickle,
    garbage,
    wrong_shape,
)

NOW = datetime(2025, 11, 3, tzinfo=UTC)
LIMIT_S = 0.1
KEY = "sk-proj-" + "Ab1" * 14


def test_without_a_model_the_reply_is_the_rendered_prompt_and_a_model_answers_to_it_and_the_message(
    make_agent: MakeAgent, planner: AgentRunnable, provider: FakeProvider
) -> None:
    reply = make_agent().as_runnable().invoke("dark mode")
    assert (reply.text, reply.prompt) == ("Plan this: dark mode", "Plan this: dark mode")
    assert (reply.answered, reply.model, reply.usage) == (False, None, None)
    assert (reply.agent, reply.intent, reply.turn.action) == ("work-planner", "PLAN", "route")
    pieces = list(make_agent().as_runnable().stream("dark mode"))
    assert [piece.text for piece in pieces] == ["Plan this: dark mode"]
    provider.play(Text("Step one."))
    reply = planner.invoke("dark mode")
    assert (reply.text, reply.answered, reply.model) == ("Step one.", True, "fake-model")
    assert reply.usage == Usage(12, 5, 17)
    said = [(message["role"], message["content"]) for message in provider.asked[0].messages]
    assert said == [("system", "Plan this: dark mode"), ("user", "dark mode")]


def test_a_turn_of_the_router_keeps_its_prompt_and_one_of_another_agent_is_rendered_anew(
    planner: AgentRunnable, provider: FakeProvider, make_agent: MakeAgent
) -> None:
    turn = Turn(
        "Make it purple", NOW, expanded="Make the FAB purple", intent="PLAN",
        agent="work-planner", prompt="As the router rendered it.", action="route",
    )  # fmt: skip
    reply = planner.invoke(turn)
    assert (reply.turn, reply.prompt) == (turn, "As the router rendered it.")
    assert provider.asked[0].newest == "Make the FAB purple"
    assert planner.invoke({"turn": turn}).turn == turn
    said = ContextEntry(NOW, "I want a FAB", "PLAN")
    turn = Turn(
        "do it", NOW, context=(said,), expanded="do the FAB", intent="PLAN", agent="work-planner",
        prompt="Plan this", action="clarify", question="What?", candidates=("PLAN", "EXECUTE"),
    )  # fmt: skip
    reply = make_agent("EXECUTE").as_runnable().invoke(turn)
    assert reply.prompt == "Do this as EXECUTE: do the FAB"
    assert (reply.turn.agent, reply.turn.intent) == ("code-executor", "EXECUTE")
    assert (reply.turn.action, reply.turn.question) == ("route", None)
    assert reply.turn.context == (said,)


def test_the_pieces_of_a_stream_add_up(planner: AgentRunnable, provider: FakeProvider) -> None:
    provider.play(Text("First this, then that."), Text("First this, then that."))
    pieces = list(planner.stream("dark mode"))
    assert [piece.text for piece in pieces] == ["First ", "this, ", "then ", "that.", ""]
    assert provider.asked[0].streamed
    whole, invoked = reduce(add, pieces), planner.invoke("dark mode")
    assert (whole.text, whole.usage, whole.notes) == (invoked.text, invoked.usage, invoked.notes)

    async def streamed() -> list[AgentReply]:
        return [piece async for piece in planner.astream("dark mode")]

    provider.play(default=Text("Step one."))
    assert asyncio.run(planner.ainvoke("dark mode")).text == "Step one."
    pieces = asyncio.run(streamed())
    assert [piece.text for piece in pieces] == ["Step ", "one.", ""]
    assert reduce(add, pieces).usage == Usage(12, 5, 17)


@pytest.mark.parametrize("call", ["agent.invoke('dark mode')", "list(agent.stream('dark mode'))"])
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signal")
def test_an_interrupt_ends_a_call(provider: FakeProvider, call: str, launchers: Path) -> None:
    provider.play(default=Slow())
    code = f"""
import os
print(os.getpid(), flush=True)
from kds import agents
agent = agents.load("PLAN", model="{provider.url}#m")
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [launchers / "python-block", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as done:
        assert done.stdout
        pid = int(done.stdout.readline())
        assert provider.wait_asked()
        os.kill(pid, signal.SIGINT)
        assert done.communicate(timeout=PATIENCE_S)[0] == "interrupted\n"


def test_callbacks_and_tags_reach_the_model(planner: AgentRunnable, provider: FakeProvider) -> None:
    recorder = Recorder()
    tagged = planner.with_config(tags=["t"], callbacks=[recorder])
    provider.play(Text("Step one."), Text("Step one."), Failure(500, "boom"))
    tagged.invoke("dark mode")
    list(tagged.stream("dark mode", {"run_name": "mine"}))
    ended = [("model", True), ("end", "Step one.")]
    chains = [("chain", name, ["t"]) for name in ("work-planner", "mine")]
    assert recorder.seen == [chains[0], *ended, chains[1], *ended]
    with pytest.raises(ModelError):
        tagged.invoke("dark mode")
    assert recorder.seen[-1] == ("error", "ModelError")


def _ways(agent: AgentRunnable) -> dict[str, Callable[[], object]]:
    async def astream() -> list[AgentReply]:
        return [piece async for piece in agent.astream("dark mode")]

    return {
        "invoke": lambda: agent.invoke("dark mode"),
        "stream": lambda: list(agent.stream("dark mode")),
        "ainvoke": lambda: asyncio.run(agent.ainvoke("dark mode")),
        "astream": lambda: asyncio.run(astream()),
    }


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
@pytest.mark.parametrize("reply", [Slow(), Stall(), Trickle()], ids=lambda one: type(one).__name__)
def test_no_model_holds_a_turn_beyond_the_timeout(
    planner: AgentRunnable, provider: FakeProvider, reply: Reply, way: str
) -> None:
    provider.play(default=reply)
    agent = planner.agent.as_runnable(planner.model, timeout_s=LIMIT_S)
    with pytest.raises(ModelError, match=r"did not answer within 0\.1 s") as caught:
        _ways(agent)[way]()
    assert caught.value.kind == "timeout"


def test_the_timeout_holds_with_retries(make_agent: MakeAgent, provider: FakeProvider) -> None:
    """A client that waits as long as it is told would take ten minutes for its tries."""
    provider.play(default=Failure(500, "boom", headers={"retry-after": "60"}))
    settings = ModelSettings(name=f"{provider.url}#m", max_retries=10, timeout_s=LIMIT_S)
    agent = make_agent().as_runnable(load_chat_model(settings), timeout_s=LIMIT_S)
    with pytest.raises(ModelError) as caught:
        agent.invoke("dark mode")
    assert caught.value.kind == "timeout"
    assert len(provider.asked) < 3


def test_a_stream_gives_the_pieces_before_the_end(
    planner: AgentRunnable, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(run, "Deadline", partial(Deadline, clock=lambda: now[0]))
    provider.play(Stall("Well, "))
    pieces = planner.agent.as_runnable(planner.model, timeout_s=PATIENCE_S).stream("dark mode")
    assert next(pieces).text == "Well, "
    now[0] = 2 * PATIENCE_S
    with pytest.raises(ModelError) as caught:
        next(pieces)
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize("way", ["invoke", "astream"])
@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Failure(401, f"Incorrect API key: {KEY}"), "key", "Incorrect API key"),
        (Failure(404, "The model 'x' does not exist"), "model", "The model 'x' does not exist"),
        (Failure(429, "You exceeded your quota"), "rate", "You exceeded your quota"),
        (Failure(503, "overloaded"), "provider", "overloaded"),
        (Failure(400, "context is too long"), "refused", "context is too long"),
        (Dead(), "unreachable", "fake-model cannot be reached"),
        (Dead("Well, "), "unreachable", "fake-model cannot be reached"),
        (garbage(), "garbage", "no answer that can be read"),
        (wrong_shape(), "garbage", "no answer that can be read"),
        (wrong_shape([]), "garbage", "no answer that can be read"),
        (wrong_shape({}), "garbage", "no answer that can be read"),
    ],
)
def test_what_goes_wrong_is_said_with_the_providers_words_and_a_fix(
    planner: AgentRunnable, provider: FakeProvider, reply: Reply, kind: str, said: str, way: str
) -> None:
    provider.play(reply)
    with pytest.raises(ModelError) as caught:
        _ways(planner)[way]()
    assert (caught.value.kind, said in caught.value.message) == (kind, True), caught.value
    assert caught.value.hint
    assert KEY not in str(caught.value)


def test_a_cut_or_empty_answer_is_noted(planner: AgentRunnable, provider: FakeProvider) -> None:
    provider.play(Text("Step", finish="length"), Text("", finish="content_filter"), Text("  "))
    assert "cut off" in planner.invoke("dark mode").notes[0]
    assert "filter" in planner.invoke("dark mode").notes[0]
    assert planner.invoke("dark mode").notes == ("the model gave no text",)


def test_a_hung_request_keeps_no_process_alive(provider: FakeProvider, launchers: Path) -> None:
    provider.play(default=Slow())
    code = f"""
from kds import agents
agent = agents.load("PLAN", model="{provider.url}#m")
try:
    agent.agent.as_runnable(agent.model, timeout_s=0.1).invoke("dark mode")
except agents.ModelError as error:
    print(error.kind)
"""
    done = subprocess.run(
        [launchers / "python-block", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout) == (0, "timeout\n")


def test_what_is_not_a_model_or_the_name_of_an_agent_says_which_was_meant(workspace: Path) -> None:
    models: tuple[Any, ...] = (5, object(), b"openai:x", ["openai:x"])
    for model in models:
        with pytest.raises(ModelError, match="not a chat model") as refused:
            agents.load("PLAN", model=model)
        assert "openai:NAME" in str(refused.value.hint)
    names: dict[Any, str] = {
        "PLANN": "did you mean PLAN?", "plann": "did you mean PLAN?", None: "name an intent",
        "work-plannr": "did you mean 'work-planner'?", b"PLAN": "name an intent",
        "": "see `kds prompts list`",
    }  # fmt: skip
    for name, hint in names.items():
        with pytest.raises(DispatchError) as caught:
            agents.load(name)
        assert hint in str(caught.value.hint)


def test_agents_are_listed_by_priority_and_found_by_intent_and_by_name(workspace: Path) -> None:
    names = agents.names()
    assert names[0] == "error-corrector"
    assert {"work-planner", "code-executor"} < set(names)
    assert agents.load("PLAN").agent.name == "work-planner"
    assert agents.load("work-planner", str(workspace)).agent.intent == "PLAN"
    assert agents.load("TEST", Workspace.find()).agent.name == "test-generator"
    with pytest.raises(WorkspaceError):
        agents.load("PLAN", workspace / "nowhere")
    folder = workspace / "prompts" / "internal"
    folder.mkdir(parents=True)
    (folder / "song-writer.md").write_text(
        "---\nname: song-writer\ndescription: Sings.\ninputs: [message]\n---\nSing {{ message }}\n"
    )
    reply = agents.load("song-writer").invoke("of the sea")
    assert (reply.text, reply.intent) == ("Sing of the sea", "UNKNOWN")


def test_the_model_is_the_one_that_the_user_has_set(
    workspace: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agents.load("PLAN").model is None
    monkeypatch.setenv("KDS_MODEL", f"{provider.url}#mine")
    monkeypatch.setenv("KDS_MODEL_TIMEOUT_S", "7")
    loaded = agents.load("PLAN")
    assert isinstance(loaded.model, ChatOpenAI)
    assert (loaded.model.model_name, loaded.timeout_s) == ("mine", 7)
    other = ChatOpenAI(base_url=provider.url, api_key="k", model="other")
    assert agents.load("PLAN", model=other).model is other
    assert agents.load("PLAN", model=f"{provider.url}#third").model != loaded.model
