"""The whole loop in two lines: route, run the agent, remember.

    session = kds.Session.open()
    session.ask("Make it purple")

Several threads may share a session. A correction halts what runs in it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

from kds.agents.agent import Agent
from kds.brain.clock import Clock, utc_now
from kds.brain.context.work import Halted, Work, WorkInMemory, WorkStore
from kds.brain.settings import load_settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.session.agent_runs import AgentDesk, first_assignment
from kds.session.conversation import NearestConversations, resume, slip_notes, tidy, work_of
from kds.session.exchange import Answer, Exchange, ExchangeDeps, Forgetting
from kds.session.memory import Said, SessionMemory
from kds.session.planning import Course, TurnPlan, TurnPlanner

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


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
        forgetting: Forgetting,
        named: bool = False,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.workspace = planner.conversations.workspace
        """Whose session it is."""
        self.conversations = planner.conversations
        """What routes its messages."""
        self.memory = planner.memory
        """What it remembers."""
        self.conversation = planner.conversation
        """Under which name its messages are routed; None: as the workspace's own."""
        self.warnings = notes
        """What went wrong on opening without being an error."""
        self._named = named
        self._planner = planner
        self._deps = ExchangeDeps(
            desk, planner.course, planner.memory, planner.work, forgetting, planner.conversation
        )
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
    ) -> Self:
        """Open the session of the workspace at ``path``, or of the one found from here upwards.

        Without a ``name`` it is the conversation that this terminal is in; with one it is a
        conversation of its own, resumed when it is remembered (by id, title, or `last`), else
        begun. ``context`` names the context alone. ``model`` is a chat model or the name of one,
        in the place of that of the settings; without any, agents return their prompts. Without
        ``log`` nothing is kept. Where a service runs it routes the messages, unless ``routes``
        makes what does: the service itself has no need to ask. Raises WorkspaceError, ConfigError,
        ModelError for a ``model`` that can be none, and StoreError for a `last` session where
        there is none.
        """
        workspace = Workspace.at(path)
        desk = AgentDesk(load_settings(workspace).model, model, workspace=workspace)
        memory = SessionMemory(workspace, clock=clock, keeps=log)
        conversation, notes = context, slip_notes(memory, name)
        if name is not None:
            conversation = resume(workspace, memory, name, clock=clock)
        if routes is None:
            conversations = NearestConversations.open(workspace, memory, clock=clock)
        else:
            conversations = routes(memory)
        notes = (*conversations.take_notes(), *notes)
        memory.find_summarizer = lambda: desk.summarizer(conversations.library)
        course = Course(conversations.library, str(workspace.root))
        origin = conversations.origin
        work: WorkStore = work_of(workspace, conversation, clock=clock, origin=origin)
        if log:
            tidy(workspace, clock=clock)
        else:
            memory.session = memory.session or work.load().work.session
            work = WorkInMemory()
        planner = TurnPlanner(conversations, memory, work, course, conversation, log)
        forgetting = Forgetting(workspace, memory, clock)
        return cls(planner, desk, forgetting=forgetting, named=name is not None, notes=notes)

    @property
    def work(self) -> Work:
        """The work in progress. Raises StoreError."""
        return self._planner.work.load().work

    @property
    def has_model(self) -> bool:
        """Whether a model is configured; whether it answers will be seen."""
        return self._deps.desk.has_model

    @property
    def alone(self) -> bool:
        """Whether its messages are routed in this process for want of a service."""
        return self.conversations.alone

    def ask(self, message: str, *, agent: str | None = None, follow: bool = False) -> Answer:
        """Route ``message``, run the agents it is for, remember both sides.

        ``agent`` names the one to take it (`work-planner` or `PLAN`). With ``follow`` the work
        is handed on as the prompt files say, PLAN to EXECUTE to TEST. What goes wrong with the
        model is in `Answer.error`. Raises MessageError, DispatchError and StoreError.
        """
        return _last(self.begin(message, agent=agent, follow=follow).pieces())

    def stream(
        self, message: str, *, agent: str | None = None, follow: bool = False
    ) -> Iterator[str | Answer]:
        """As `ask`, but yield pieces of text as they come, and at last the Answer.

        The message is logged before this returns. To stop iterating is to halt the agent.
        """
        return self.begin(message, agent=agent, follow=follow).pieces()

    def begin(self, message: str, *, agent: str | None = None, follow: bool = False) -> Exchange:
        """Route and log ``message``; its answer comes when the exchange is iterated over.

        Raises what `ask` raises.
        """
        self._bind()
        opening = self._planner.open(message, agent=agent, halt=self._halt_running)
        return self._exchange(opening, follow=follow)

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
        before = self._planner.work.change(Work.idle).work
        if not agents and not before.pending:
            return None
        return Halted(agents, before.pending, before.exchange)

    def preview(self, message: str, *, agent: str | None = None) -> Preview:
        """Say what would be sent to the first agent, without asking it or keeping anything."""
        self._bind()
        opening = self._planner.rehearsed().open(message, agent=agent, halt=lambda: ())
        if not opening.legs:
            return Preview(opening.turn, says=opening.says, notes=opening.notes)
        intent, notes = opening.legs[0], opening.notes
        course = self._planner.course
        if course.must_confirm(intent) and not opening.confirmed:
            notes = (*notes, f"{course.agent(intent).name} is asked only after a yes")
        assignment = first_assignment(opening, course.agent(intent), self.memory)
        return Preview(opening.turn, self._deps.desk.messages(assignment), notes=notes)

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _exchange(self, opening: TurnPlan, *, follow: bool) -> Exchange:
        exchange = Exchange(opening, self._deps, follow=follow)
        with self._lock:
            self._running.add(exchange)
        return exchange

    def _bind(self) -> None:
        """Settle under which id a conversation without a name of its own is remembered.

        It is a new one when nothing was said for two hours: the context is empty then, too.
        """
        if self._named:
            return
        found, origin = self._planner.work.load().work, self.conversations.origin
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
