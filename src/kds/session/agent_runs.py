"""The agents of a session at work: what each of them sees, and the thread in which it runs.

An agent sees its rendered prompt, then what was said before within the budget of the memory, then
what the agent before it left (`prompts/internal/agent-handover.md`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from kds.agents.agent import Agent, AgentReply
from kds.agents.models import ModelError, chosen_model, load_chat_model
from kds.agents.prompting import memory_note, summarizer_of
from kds.brain.context.work import Halted
from kds.brain.errors import KdsError
from kds.brain.memory.memory import PromptMemory
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.memory.summarizer import Summarizer
from kds.brain.settings import load_settings
from kds.brain.timeouts import Deadline, OutOfTimeError
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.session.memory import Said, SessionMemory
from kds.session.planning import TurnPlan

if TYPE_CHECKING:  # imported with the model (decision 4)
    from langchain_core.language_models import BaseChatModel

    from kds.agents.tools import AnyTool


Speech = Iterator[str | AgentReply]
"""What an agent says: pieces of text as they come, and at last the whole reply."""

GRACE_S: Final = 0.5
"""How long after its time is up a model may still explain itself, in its own words."""

LOADING_S: Final = 60.0
"""How long a model's client may take to load, which does not count as the model's time: some
seconds of imports, on a cold disk more."""

HANDOVER: Final = "agent-handover"
"""The prompt file with what an agent is told about the one before it."""

BEFORE_CHARS: Final = 16_000
"""Of the reply that an agent builds on: about 4,000 tokens, more than any plan of seven tasks."""


class AgentRun:
    """Runs ``speak`` in a thread while it is iterated over, which is done once, for the pieces.

    Its time begins when ``load`` has returned, in the same thread.
    """

    def __init__(
        self,
        speak: Callable[[], Speech],
        *,
        agent: str,
        timeout_s: float,
        load: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.agent = agent
        self.reply: AgentReply | None = None
        self.error: KdsError | None = None
        self.outcome: Literal["running", "done", "halted", "failed"] = "running"
        self._speak, self._load, self._timeout_s = speak, load, timeout_s
        self._deadline = Deadline(LOADING_S, clock=clock)
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._said: list[str] = []
        self._lock = Lock()

    @property
    def _over(self) -> bool:
        return self.outcome != "running"

    @property
    def text(self) -> str:
        """What it has said so far."""
        return "".join(self._said)

    def __iter__(self) -> Iterator[str]:
        """Yield the pieces as they come, until the reply, an error, a halt or its time is up."""
        try:
            with closing(self._deadline.each(self._items, self._inbox)) as items:
                for item in items:
                    if isinstance(item, AgentReply):
                        self._end("done", reply=item)
                        return
                    with self._lock:
                        if self._over:
                            return
                        self._said.append(item)
                    if item:
                        yield item
            raise KdsError(f"{self.agent} ended without a reply")
        except OutOfTimeError:
            message = f"{self.agent} had no answer after {self._timeout_s:g} s"
            self._end("failed", error=ModelError(message, kind="timeout"))
        except KdsError as error:
            self._end("failed", error=error)
        except Exception as error:  # noqa: BLE001  # foreign code: a model's client, a tool
            message = f"{self.agent} failed: {type(error).__name__}: {error}"
            self._end("failed", error=KdsError(message))

    def halt(self) -> bool:
        """Stop it; False when it had ended. What was said until now stays in ``text``."""
        halted = self._end("halted")
        self._inbox.put(None)  # wakes the thread that waits
        return halted

    def _items(self) -> Speech:
        """What is said, in the thread; nothing more once it has ended."""
        self._load()
        self._deadline.renew(self._timeout_s + GRACE_S)
        yield ""  # the waiting thread starts its time again
        for item in self._speak():
            if self._over:
                return  # the speech goes with it, and lets go of the connection
            yield item

    def _end(
        self,
        outcome: Literal["done", "halted", "failed"],
        *,
        reply: AgentReply | None = None,
        error: KdsError | None = None,
    ) -> bool:
        with self._lock:
            if self._over:
                return False
            self.outcome, self.reply, self.error = outcome, reply, error
            return True


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is to do, and all that it gets to see."""

    agent: Agent
    turn: Turn
    earlier: tuple[Said, ...]
    memory: PromptMemory
    """What other conversations and the profile have on it."""
    before: Said | None
    """The reply that the work is handed over with, whole."""
    asked: str
    """What that was the reply to."""
    stopped: Halted | None

    @classmethod
    def of(
        cls,
        plan: TurnPlan,
        turn: Turn,
        agent: Agent,
        memory: SessionMemory,
        previous: AgentReply | None = None,
    ) -> Assignment:
        """What ``agent`` is to do of ``plan``, after the agent of the ``previous`` reply to it."""
        if previous is None:
            earlier = memory.earlier(plan.said)
            before = memory.last_reply() if plan.handed else None
            asked, stopped = plan.handed, plan.stopped
        else:
            earlier = memory.earlier("")
            answered = Said("assistant", previous.text, previous.agent)
            before = answered if previous.answered else None
            asked, stopped = plan.said, None
        known = memory.for_prompt(turn, earlier) if agent.prompt.memory else PromptMemory()
        return cls(agent, turn, earlier, known, before, asked, stopped)

    def as_turn(self) -> Turn:
        """The turn as the agent answers it: its prompt whole, and what was said before."""
        prompt = "\n\n".join(filter(None, (self.prompt, self._handover())))
        return replace(self.turn, prompt=prompt, history=self._history())

    @property
    def prompt(self) -> str:
        """The prompt with what the memory has on the turn."""
        note = memory_note(self.agent.library, self.memory)
        return f"{self.turn.prompt}\n\n{note}" if note else self.turn.prompt

    def _history(self) -> tuple[Utterance, ...]:
        earlier = self.earlier
        if self.before is not None:
            # The window has the beginning of that reply, if it has it: here is the whole.
            if earlier and earlier[-1].role == "assistant":
                earlier = earlier[:-1]
            text = self.before.text
            cut = text if len(text) <= BEFORE_CHARS else f"{text[:BEFORE_CHARS].rstrip()} …"
            asked = () if earlier else (Said("user", self.asked),)
            earlier = (*earlier, *asked, Said("assistant", cut))
        # A summary is told as the user's: some providers take one system message, and no more.
        return tuple(one.as_utterance() for one in earlier)

    def _handover(self) -> str:
        if self.before is None and self.stopped is None:
            return ""
        stopped = self.stopped or Halted()
        library = self.agent.library
        return library.render(library.get(HANDOVER), {
            "previous": self.before.speaker or "the agent before" if self.before else "",
            "agent": self.agent.name,
            "halted": list(stopped.agents),
            "dropped": list(stopped.dropped),
        })  # fmt: skip


class AgentDesk:
    """Puts agents to work, with the model of the settings or the one that was given."""

    def __init__(self, workspace: Workspace, model: BaseChatModel | str | None) -> None:
        """Ask ``model``, the one of that name, or (None) that of the settings of ``workspace``.

        Raises ModelError for what can be no model.
        """
        self._settings, self._model = chosen_model(load_settings(workspace).model, model)
        self._workspace = workspace
        self._lock = Lock()

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask. It is loaded, and may fail, when it is asked."""
        return bool(self._model or self._settings.name or self._settings.base_url)

    def summarizer(self, library: PromptLibrary) -> Summarizer | None:
        """What condenses conversations with the model; None without one."""
        return summarizer_of(self._loaded, library) if self.has_model else None

    def start(self, assignment: Assignment) -> AgentRun:
        """Have an agent work, in a thread of its own, while it is listened to."""
        return AgentRun(
            lambda: self._speech(assignment),
            agent=assignment.agent.name,
            timeout_s=self._settings.timeout_s,
            load=self._loaded,
        )

    def messages(self, assignment: Assignment) -> tuple[Said, ...]:
        """Everything that the agent's model would be sent first; its tools aside."""
        turn = assignment.as_turn()
        said = (Said(one.role, one.text) for one in turn.history)
        return (Said("system", turn.prompt), *said, Said("user", turn.expanded or turn.message))

    def _speech(self, assignment: Assignment) -> Speech:
        turn, agent = assignment.turn, assignment.agent
        model = self._loaded()
        if model is None:
            prompt = assignment.prompt
            yield AgentReply(agent.name, turn.intent, prompt, prompt, turn)
            return
        timeout_s = self._settings.timeout_s
        runnable = agent.as_runnable(model, tools=self._tools(), timeout_s=timeout_s)
        whole: AgentReply | None = None
        for piece in runnable.stream(assignment.as_turn()):
            yield piece.text
            whole = piece if whole is None else whole + piece
        if whole is not None:
            yield replace(whole, turn=turn)

    def _tools(self) -> Sequence[AnyTool]:
        """The tools that prompt files may name; they come with LangChain, so with a model."""
        from kds.agents.tools import built_in_tools  # LangChain: for who has a model
        from kds.brain.documents.store import DocumentPlace  # 0.1 s of imports

        return built_in_tools(
            memory=MemoryPlace.of(self._workspace),
            documents=DocumentPlace.of(self._workspace),
            budget_tokens=load_settings(self._workspace).recall.token_budget,
        )

    def _loaded(self) -> BaseChatModel | None:
        """The model, if there is any; loading it imports LangChain: about a second."""
        with self._lock:
            if self._model is None:
                self._model = load_chat_model(self._settings)
            return self._model
