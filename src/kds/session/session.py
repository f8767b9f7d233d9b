"""The whole loop in two lines: route, run the agent, remember.

    session = kds.Session.open()
    session.ask("Make it purple")

Several threads may share a session. A correction halts what runs in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, Self, Unpack
from weakref import WeakSet

from kds.agents.agent import CERTAIN, Agent
from kds.agents.models import LazyModel
from kds.agents.prompting import prompt_with, summarizer_of
from kds.api.conversations import Records
from kds.api.turn_log import LAST
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import Contexts
from kds.brain.context.names import conversation_path, terminal_origin
from kds.brain.context.work import Edit, Halted, Offer, Work, WorkStore, tidy_work
from kds.brain.errors import DispatchError, StoreError
from kds.brain.message import clean_message
from kds.brain.settings import load_settings
from kds.brain.turn import UNKNOWN, Turn
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.service.service_client import How, RouterClient
from kds.session.exchange import Answer, Exchange, briefed
from kds.session.memory import SessionMemory
from kds.session.planning import Plan, going_on, must_confirm, plan_message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


ID_PART: Final = 6
"""Characters of an id that name a session; tables show eight."""


class Routes(Protocol):
    """Routes the messages of a session: in this process, or by asking the service."""

    @property
    def alone(self) -> bool:
        """Whether there was no service that could have been asked."""

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent for a message."""

    turn: Turn
    messages: tuple[Mapping[str, str], ...] = ()
    """Of a "role" and a "content" each; tools aside."""
    says: str = ""
    """What KDS would say by itself, when it would ask no model."""
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class Session:
    """A conversation with the agents of a workspace. Make it with `Session.open`."""

    records: Records
    """What logs its messages."""
    client: Routes
    """What routes them."""
    memory: SessionMemory
    """What it remembers."""
    store: WorkStore
    """Keeps the work in progress."""
    model: LazyModel
    """What answers, if there is any; whether it does will be seen."""
    conversation: str | None = None
    """Under which name its messages are routed; None: as the workspace's own."""
    named: bool = False
    log: bool = True
    """Whether what is said is kept."""
    warnings: tuple[str, ...] = ()
    """What went wrong on opening without being an error."""
    _lock: Lock = field(default_factory=Lock, init=False)
    _running: "WeakSet[Exchange]" = field(default_factory=WeakSet, init=False)

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
        routed: "Callable[[SessionMemory], tuple[Records, Routes]] | None" = None,
        memory: SessionMemory | None = None,
    ) -> Self:
        """Open the session of the workspace at ``path``, or of the one found from here upwards.

        Without a ``name`` it is the conversation that this terminal is in; with one it is a
        conversation of its own, resumed when it is remembered (by id, title, or `last`), else
        begun. ``context`` names the context alone. ``model`` is a chat model or the name of one,
        in the place of that of the settings; without any, agents return their prompts. Without
        ``log`` nothing is kept. Where a service runs it routes the messages, unless ``routed``
        makes what does; ``memory`` stands in for that of the workspace.

        Raises WorkspaceError, ConfigError, ModelError for a ``model`` that can
        be none, and StoreError for a `last` session where there is none.
        """
        workspace = Workspace.at(path)
        asked = LazyModel(load_settings(workspace).model, model)
        memory = memory or SessionMemory(workspace, clock=clock, keeps=log)
        conversation = context if name is None else _resume(workspace, memory, name)
        records, client = (routed or _nearest)(memory)
        store = WorkStore.of(workspace, conversation, clock=memory.clock, origin=records.origin)
        memory.summarizer = summarizer_of(asked, records.library)
        if log:
            tidy_work(workspace, clock=clock)
        else:
            memory.session = memory.session or store.load().work.session
            store = WorkStore()
        warnings = memory.take_notes()
        return cls(
            records, client, memory, store, asked, conversation, name is not None, log, warnings
        )

    @property
    def workspace(self) -> Workspace:
        """Whose session it is."""
        return self.records.workspace

    @property
    def work(self) -> Work:
        """The work in progress. Raises StoreError."""
        return self.store.load().work

    def ask(self, message: str, *, agent: str | None = None) -> Answer:
        """Route ``message``, run the agents it is for, remember both sides.

        ``agent`` names the one to take it (`work-planner` or `PLAN`). What goes wrong with the
        model is in `Answer.error`. Raises MessageError, DispatchError and StoreError.
        """
        pieces = self.stream(message, agent=agent)
        return next(one for one in pieces if isinstance(one, Answer))

    def stream(self, message: str, *, agent: str | None = None) -> Iterator[str | Answer]:
        """As `ask`, but yield pieces of text as they come, and at last the Answer.

        The message is logged before this returns. To stop iterating is to halt the agent.
        """
        return self.begin(message, agent=agent).pieces()

    def begin(self, message: str, *, agent: str | None = None, alone: bool = False) -> Exchange:
        """Route and log ``message``; its answer comes when the exchange is iterated over.

        ``alone`` halts what runs first, as a correction does. Raises what `ask` raises.
        """
        self._bound()
        halted = self._halt_running() if alone else None
        halt = self._halt_running if halted is None else lambda: halted
        return self._begun(plan_message(self, clean_message(message), agent, halt))

    def begin_hand_over(self, intent: str | None = None) -> Exchange:
        """Let the agent that was offered go on with the work, or the one of ``intent``.

        The answer comes when the exchange is iterated over. Raises DispatchError when it was not
        offered.
        """
        work = self._bound()
        offer = self.next_offer(work.offers, work.chain)
        if intent is not None:
            wanted = self.records.library.intent_named(intent)
            offer = next((one for one in work.offers if one.intent == wanted), None)
        if work.turn is None or offer is None:
            listed = ", ".join(one.intent for one in work.offers)
            raise DispatchError(
                f"{intent} was not offered" if intent else "nobody has offered to go on",
                hint=f"offered are: {listed}" if listed else "say what to do",
            )
        return self._begun(going_on(self, work, work.turn, (offer.intent,)))

    def begin_again(self) -> Exchange:
        """Let the agent that answered last answer the same message once more.

        Raises DispatchError when nothing of the kind is known.
        """
        work = self._bound()
        if work.turn is None or not work.chain:
            raise DispatchError("there is nothing to answer again", hint="say it again")
        *before, last = work.chain
        mine = self.turn_for(work.turn, last)
        return self._begun(Plan(mine, (last,), said=work.turn.message, chain=tuple(before)))

    def begin_run(self, turn: Turn, agent: Agent, prompt: str) -> Exchange:
        """Have the message of ``turn`` answered by ``agent``, which follows ``prompt``."""
        mine = replace(
            turn, action="abstain" if turn.action == "clarify" else turn.action, question=None,
            candidates=(), secondary_intents=(), agent=agent.name, prompt_file=agent.prompt.ref,
            prompt=prompt,
        )  # fmt: skip
        self._bound()
        return self._begun(Plan(mine, (UNKNOWN,), said=turn.message, agent=agent))

    def halt(self) -> Halted | None:
        """Stop the agents at work and drop what was still to come; None when there was nothing.

        What they have said is kept, marked as halted.
        """
        seen = self.work
        return self.stop(seen, self._halt_running(), Work.stopped)

    def preview(self, message: str, *, agent: str | None = None) -> Preview:
        """Say what would be sent to the first agent, without asking it or keeping anything."""
        rehearsal = copy(self)
        rehearsal.log, rehearsal.store = False, WorkStore(work=self._bound())
        plan = plan_message(rehearsal, clean_message(message), agent, lambda: ())
        notes = (*plan.notes, *self.memory.take_notes())
        if not plan.legs:
            return Preview(plan.turn, says=plan.says, notes=notes)
        first = self.agent(plan.legs[0])
        if must_confirm(first) and not plan.confirmed:
            notes = (*notes, f"{first.name} is asked only after a yes")
        turn, known = briefed(self.memory, plan, plan.turn, first)
        said = [("system", prompt_with(known, turn.prompt, first.library))]
        said += ((one.role, one.text) for one in turn.history)
        said.append(("user", turn.expanded or turn.message))
        sent = tuple({"role": role, "content": text} for role, text in said)
        return Preview(plan.turn, sent, notes=notes)

    def clear(self) -> int:
        """Begin afresh: forget the context and the work in progress; returns the entries.

        What was said stays in the memory, as a session of its own (`kds memory delete`).
        """
        self.store.clear()
        count = self.records.clear(self.conversation)
        if not self.named:
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

    def agent(self, intent: str) -> Agent:
        """The agent of an intent. Raises DispatchError."""
        return Agent.named(intent, self.records.library, workspace=str(self.workspace.root))

    def turn_for(self, turn: Turn, intent: str, rest: Sequence[str] = ()) -> Turn:
        """``turn`` as the agent of ``intent`` gets it, with its prompt; ``rest`` comes later."""
        if turn.intent != intent:
            turn = replace(turn, intent=intent, confidence=CERTAIN, alternatives=())
        turn = replace(turn, action="abstain" if intent == UNKNOWN else "route",
                       secondary_intents=tuple(rest), prompt="")  # fmt: skip
        return self.agent(intent).taking(turn)

    def next_offer(self, offers: Iterable[Offer], chain: Sequence[str]) -> Offer | None:
        """The offer that comes next, if any: no agent serves the same work twice, and only the user
        can say that something is wrong.

        The work of an agent that changes nothing goes on when its model says so.
        """
        library = self.records.library
        never = {*chain, *library.corrections()}
        last = library.for_intent(chain[-1]) if chain else None
        looks = last is not None and last.only_looks
        return next((o for o in offers if o.intent not in never and (o.chosen or not looks)), None)

    def stop(self, seen: Work, agents: tuple[str, ...], become: Edit) -> Halted | None:
        """Drop what was still to come of the work as it was ``seen``, and leave word for a process
        that works on it; None when there was nothing to stop."""

        def edit(now: Work) -> Work:
            stopped = Halted(agents, now.pending or seen.pending, now.exchange)
            return replace(become(now), halted=stopped if agents or stopped.dropped else None)

        return edit(self.store.change(edit).work).halted

    def _begun(self, plan: Plan) -> Exchange:
        exchange = Exchange(plan, self)
        with self._lock:
            self._running.add(exchange)
        return exchange

    def _bound(self) -> Work:
        """Settle under which id a conversation without a name of its own is remembered; returns
        its work. It is a new one when nothing was said for two hours: the context is empty then."""
        found, origin = self.work, self.records.origin
        if self.named:
            return found
        known = found.session
        new = None if known else self.memory.new_session()
        if new is not None or found.origin != origin:
            before = self.store.change(
                lambda now: replace(now, session=now.session or new, origin=origin)
            )
            known = before.work.session or new
        self.memory.session = known or self.memory.session
        return found

    def _halt_running(self) -> tuple[str, ...]:
        with self._lock:
            running = tuple(self._running)
        return tuple(filter(None, (exchange.halt() for exchange in running)))


def _nearest(memory: SessionMemory) -> tuple[Records, Routes]:
    """Ask the service, and load all that routing needs where there is none. Raises ConfigError."""
    workspace = memory.workspace
    client = RouterClient(workspace, turns=memory, clock=memory.clock, tell=memory.tell)
    served = client.find() is not None
    library = PromptLibrary.sound(workspace.prompts_dir)[0] if served else client.own().library
    contexts = Contexts(workspace, clock=memory.clock)
    return Records(workspace, library, contexts, memory, origin=terminal_origin()), client


def _resume(workspace: Workspace, memory: SessionMemory, name: str) -> str | None:
    """Find the conversation that ``name`` names: by its id, the beginning of that, its title, or
    `last`; None when it is the workspace's own. A part of a title may be meant for a new one.

    Raises MessageError for what can be no name, and StoreError.
    """
    conversation_path(workspace, name)  # refuses what can be no name
    sessions, wanted = memory.sessions(), name.casefold()
    part = name if len(name) >= ID_PART else LAST  # begins no id
    found = next((one for one in sessions if name in (LAST, one.id)), None)
    found = found or next((one for one in sessions if one.title.casefold() == wanted), None)
    found = found or next((one for one in sessions if one.id.startswith(part)), None)
    if found is not None:
        memory.session = found.id
        shared = WorkStore.of(workspace, None, clock=memory.clock).load().work.session
        return None if shared == found.id else found.id
    if name == LAST:
        where = str(workspace.brain)
        raise StoreError("there is no last session", where=where, hint="begin one: kds chat")
    memory.title, memory.session = name, memory.new_session()
    return memory.session or name
