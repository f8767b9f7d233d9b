"""The whole loop in two lines: route, run the agent, remember.

    session = kds.Session.open()
    session.ask("Make it purple")

Several threads may share a session. A correction halts what runs in it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Self
from weakref import WeakSet

from kds.agents.agent import Agent
from kds.api.turn_log import LAST
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import MAX_AGE
from kds.brain.context.names import conversation_path, is_other_terminal, terminal_origin
from kds.brain.context.work import (
    FOLDER,
    Halted,
    Work,
    WorkStore,
)
from kds.brain.errors import StoreError
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace, open_texts
from kds.router.prompts.library import PromptLibrary
from kds.service.service_client import RouterClient
from kds.session.agent_runs import AgentDesk, Assignment
from kds.session.answers import Answer
from kds.session.exchange import Exchange
from kds.session.memory import Said, SessionMemory
from kds.session.planning import NearestConversations, TurnPlan, TurnPlanner

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


SHARED: Final = "workspace"
"""Name of the file for the work of the conversation that all windows of a workspace share."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent for a message."""

    turn: Turn
    messages: tuple[Said, ...] = ()
    says: str = ""
    """What KDS would say by itself, when it would ask no model."""
    notes: tuple[str, ...] = ()


class Session:
    """A conversation with the agents of a workspace. Make it with `Session.open`."""

    def __init__(
        self,
        planner: TurnPlanner,
        desk: AgentDesk,
        *,
        named: bool = False,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.conversations = planner.conversations
        """What routes its messages."""
        self.workspace = planner.conversations.workspace
        """Whose session it is."""
        self.memory = planner.memory
        """What it remembers."""
        self.conversation = planner.conversation
        """Under which name its messages are routed; None: as the workspace's own."""
        self.warnings = notes
        """What went wrong on opening without being an error."""
        self._planner, self._desk, self._named = planner, desk, named
        self._lock = Lock()
        self._running: WeakSet[Exchange] = WeakSet()

    @classmethod
    def open(
        cls,
        path: Path | str | Workspace | None = None,
        *,
        name: str | None = None,
        context: str | None = None,
        model: "BaseChatModel | str | None" = None,
        log: bool = True,
        clock: Clock = utc_now,
        routes: "Callable[[SessionMemory], NearestConversations] | None" = None,
        memory: SessionMemory | None = None,
    ) -> Self:
        """Open the session of the workspace at ``path``, or of the one found from here upwards.

        Without a ``name`` it is the conversation that this terminal is in; with one it is a
        conversation of its own, resumed when it is remembered (by id, title, or `last`), else
        begun. ``context`` names the context alone. ``model`` is a chat model or the name of one,
        in the place of that of the settings; without any, agents return their prompts. Without
        ``log`` nothing is kept. Where a service runs it routes the messages, unless ``routes``
        makes what does; ``memory`` stands in for that of the workspace.

        Raises WorkspaceError, ConfigError, ModelError for a ``model`` that can
        be none, and StoreError for a `last` session where there is none.
        """
        workspace = Workspace.at(path)
        desk = AgentDesk(workspace, model)
        memory = memory or SessionMemory(workspace, clock=clock, keeps=log)
        conversation = context if name is None else _resume(workspace, memory, name)
        conversations = (routes or _nearest)(memory)
        notes = memory.take_notes()
        memory.summarizer = lambda: desk.summarizer(conversations.library)
        work = _work_of(workspace, conversation, memory.clock, conversations.origin)
        if log:
            _tidy(workspace, clock)
        else:
            memory.session = memory.session or work.load().work.session
            work = WorkStore()
        planner = TurnPlanner(conversations, memory, work, conversation, log)
        return cls(planner, desk, named=name is not None, notes=notes)

    @property
    def work(self) -> Work:
        """The work in progress. Raises StoreError."""
        return self._planner.work.load().work

    @property
    def has_model(self) -> bool:
        """Whether a model is configured; whether it answers will be seen."""
        return self._desk.has_model

    @property
    def alone(self) -> bool:
        """Whether its messages are routed in this process for want of a service."""
        return self.conversations.client.alone

    def ask(self, message: str, *, agent: str | None = None, follow: bool = False) -> Answer:
        """Route ``message``, run the agents it is for, remember both sides.

        ``agent`` names the one to take it (`work-planner` or `PLAN`). With ``follow`` the work
        is handed on as the prompt files say, PLAN to EXECUTE to TEST. What goes wrong with the
        model is in `Answer.error`. Raises MessageError, DispatchError and StoreError.
        """
        return _last(self.stream(message, agent=agent, follow=follow))

    def stream(
        self, message: str, *, agent: str | None = None, follow: bool = False
    ) -> Iterator[str | Answer]:
        """As `ask`, but yield pieces of text as they come, and at last the Answer.

        The message is logged before this returns. To stop iterating is to halt the agent.
        """
        return self.begin(message, agent=agent, follow=follow).pieces()

    def begin(
        self, message: str, *, agent: str | None = None, follow: bool = False, alone: bool = False
    ) -> Exchange:
        """Route and log ``message``; its answer comes when the exchange is iterated over.

        ``alone`` halts what runs first, as a correction does. Raises what `ask` raises.
        """
        self._bind()
        halted = self._halt_running() if alone else None
        halt = self._halt_running if halted is None else lambda: halted
        plan = self._planner.open(message, agent=agent, halt=halt)
        return self._exchange(plan, follow=follow)

    def begin_hand_over(self, intent: str | None = None, *, follow: bool = False) -> Exchange:
        """As `hand_over`; the answer comes when the exchange is iterated over."""
        self._bind()
        return self._exchange(self._planner.hand_over(intent), follow=follow)

    def begin_again(self) -> Exchange:
        """Let the agent that answered last answer the same message once more.

        Raises DispatchError when nothing of the kind is known.
        """
        self._bind()
        return self._exchange(self._planner.again(), follow=False)

    def begin_run(self, turn: Turn, agent: Agent, prompt: str) -> Exchange:
        """Have the message of ``turn`` answered by ``agent``, which follows ``prompt``."""
        self._bind()
        return self._exchange(self._planner.run(turn, agent, prompt), follow=False)

    def hand_over(self, intent: str | None = None, *, follow: bool = False) -> Answer:
        """Let the agent that was offered go on with the work, or the one of ``intent``.

        Raises DispatchError when it was not offered.
        """
        return _last(self.begin_hand_over(intent, follow=follow).pieces())

    def halt(self) -> Halted | None:
        """Stop the agents at work and drop what was still to come; None when there was nothing.

        What they have said is kept, marked as halted.
        """
        agents = self._halt_running()
        before = self._planner.work.change(Work.stopped).work
        if not agents and not before.pending:
            return None
        return Halted(agents, before.pending, before.exchange)

    def preview(self, message: str, *, agent: str | None = None) -> Preview:
        """Say what would be sent to the first agent, without asking it or keeping anything."""
        self._bind()
        planner = self._planner.rehearsed()
        plan = planner.open(message, agent=agent, halt=lambda: ())
        notes = (*plan.notes, *self.memory.take_notes())
        if not plan.legs:
            return Preview(plan.turn, says=plan.says, notes=notes)
        agent_of = planner.agent(plan.legs[0])
        if planner.must_confirm(plan.legs[0]) and not plan.confirmed:
            notes = (*notes, f"{agent_of.name} is asked only after a yes")
        assignment = Assignment.of(plan, plan.turn, agent_of, self.memory)
        return Preview(plan.turn, self._desk.messages(assignment), notes=notes)

    def clear(self) -> int:
        """Begin afresh: forget the context and the work in progress; returns the entries.

        What was said stays in the memory, as a session of its own (`kds memory delete`).
        """
        self._planner.work.clear()
        count = self.conversations.clear(self.conversation)
        if not self._named:
            self.memory.begin_anew()
        return count

    def close(self) -> None:
        """Halt what runs, and let go of the memory. Closing twice is fine."""
        self._halt_running()
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _exchange(self, plan: TurnPlan, *, follow: bool) -> Exchange:
        exchange = Exchange(plan, self._planner, self._desk, follow=follow)
        with self._lock:
            self._running.add(exchange)
        return exchange

    def _bind(self) -> None:
        """Settle under which id a conversation without a name of its own is remembered.

        It is a new one when nothing was said for two hours: the context is empty then, too.
        """
        if self._named:
            return
        found, origin = self.work, self.conversations.origin
        known = found.session
        new = None if known else self.memory.new_session()
        if new is not None or found.origin != origin:
            before = self._planner.work.change(
                lambda now: replace(now, session=now.session or new, origin=origin)
            )
            known = before.work.session or new
        self.memory.session = known or self.memory.session

    def _halt_running(self) -> tuple[str, ...]:
        with self._lock:
            running = tuple(self._running)
        return tuple(filter(None, (exchange.halt() for exchange in running)))


def _last(pieces: Iterator[str | Answer]) -> Answer:
    for piece in pieces:
        if isinstance(piece, Answer):
            return piece
    raise AssertionError("an exchange ends with its answer")


def _nearest(memory: SessionMemory) -> NearestConversations:
    """Ask the service, and load all that routing needs where there is none. Raises ConfigError."""
    workspace = memory.workspace
    client = RouterClient(workspace, turns=memory, clock=memory.clock, tell=memory.tell)
    served = client.find() is not None
    library = PromptLibrary.sound(workspace.prompts_dir)[0] if served else client.own().library
    return NearestConversations(workspace, library, client, memory=memory, origin=terminal_origin())


def _resume(workspace: Workspace, memory: SessionMemory, name: str) -> str | None:
    """Find the conversation that ``name`` names; None when it is the workspace's own.

    Raises MessageError for what can be no name, and StoreError.
    """
    conversation_path(workspace, name)  # refuses what can be no name
    found = memory.find(name)
    if found is not None:
        memory.session = found.id
        shared = _work_of(workspace, None, memory.clock).load().work.session
        return None if shared == found.id else found.id
    if name == LAST:
        where = str(workspace.brain)
        raise StoreError("there is no last session", where=where, hint="begin one: kds chat")
    if near := memory.like(name):
        memory.tell(f"'{name}' is a new conversation; did you mean '{near}'?")
    memory.title, memory.session = name, memory.new_session()
    return memory.session or name


def _work_of(
    workspace: Workspace, conversation: str | None, clock: Clock, origin: str | None = None
) -> WorkStore:
    """Where the work in progress of a conversation is kept. Raises MessageError for its name.

    That of the workspace belongs to the terminal that is at it: while it is open, another one
    (``origin``) has work of its own.
    """
    texts = open_texts(workspace, clock=clock)

    def kept(stem: str) -> WorkStore:
        return WorkStore(texts(f"{FOLDER}/{stem}.json"), clock=clock)

    if conversation is None:
        shared = kept(SHARED)
        if origin is None or not is_other_terminal(shared.load().work.origin, origin):
            return shared
        conversation = origin
    return kept(conversation_path(workspace, conversation).stem)


def _tidy(workspace: Workspace, clock: Clock) -> None:
    """Remove what conversations left in which nobody has said anything for too long."""
    texts = open_texts(workspace, clock=clock)
    with suppress(StoreError):  # it says nothing any more, whether it goes or stays
        for folder in (FOLDER, workspace.conversations_dir.name):
            texts.remove_older(folder, clock() - MAX_AGE)
