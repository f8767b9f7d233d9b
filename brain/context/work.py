"""The work in progress of a conversation: what is done next, if the user says so.

What waits for a yes, what else a message asked for, where the work may go next, and what was
halted last. `WorkStore` keeps it for other processes (`kds ask "commit this"`, then `kds ask yes`)
as one JSON object, private, replaced at once under a lock. It expires with the conversation
context: a yes of tomorrow confirms nothing. Secrets are replaced by marks; replies are not in it.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.journal import FUTURE_TOLERANCE, LOCK_TIMEOUT_S, MAX_AGE
from kds.brain.context.names import conversation_path, is_other_terminal
from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.files import LockedText
from kds.brain.secrets.redaction import withheld
from kds.brain.store.columns import kept_data
from kds.brain.turn import Turn, from_wire, read, to_wire
from kds.brain.workspace import Workspace, open_texts


@dataclass(frozen=True, slots=True)
class Offer:
    """An agent that may go on with the work, and why, if anybody said so."""

    intent: str
    agent: str
    reason: str = ""
    chosen: bool = False
    """Whether a model chose it, or only the prompt file of the agent before lists it."""


@dataclass(frozen=True, slots=True)
class Halted:
    """What a correction stopped: the agents that were running, and what was still to come."""

    agents: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Intents, in the order in which they would have been served."""
    exchange: str = ""
    """Which one it was: the process that works on it finds out here."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is under way in a conversation; a value without anything is "nothing"."""

    turn: Turn | None = None
    """The message that all of it is about, without its prompt and its records."""
    exchange: str = ""
    """Which question and answer this belongs to: a process that finds another one was overtaken."""
    confirm: str | None = None
    """The intent that waits for a yes."""
    rest: tuple[str, ...] = ()
    """Intents of the message that are still to be served, in order."""
    offers: tuple[Offer, ...] = ()
    """Where the work may go next; the first is what "go ahead" means."""
    chain: tuple[str, ...] = ()
    """Intents served so far for this piece of work, so that it does not go in circles."""
    halted: Halted | None = None
    session: str | None = None
    """Under which id the conversation is remembered."""
    origin: str | None = None
    """In which terminal it goes on (`kds.brain.context.names`)."""

    @property
    def pending(self) -> tuple[str, ...]:
        """Every intent that is still to come without being asked for anew."""
        return (*((self.confirm,) if self.confirm else ()), *self.rest)

    def idle(self) -> "Work":
        """The same conversation with nothing under way."""
        return Work(session=self.session, origin=self.origin)

    def stopped(self) -> "Work":
        """The same with nothing to come: the message can be answered again."""
        return replace(self.idle(), turn=self.turn, chain=self.chain)


NOTHING: Final = Work()

FOLDER: Final = "work"
"""Where the files are in `kds-brain`, one for each conversation."""

SHARED: Final = "workspace"
"""Name of the file for the conversation that all windows of a workspace share."""

VERSION: Final = 1
"""Of the file. One of another version does not count: what is pending is asked for again."""


@dataclass(frozen=True, slots=True)
class LoadedWork:
    """The work as it was found, and what was wrong with the text."""

    work: Work
    warnings: tuple[str, ...] = ()


Edit = Callable[[Work], Work]

_AWAY: Final = (StoreError, WorkspaceError)
"""The server is away, the disk is full, git would commit the file."""

_UNREADABLE: Final = (ValueError, TypeError, KeyError, RecursionError, StoreError)


class WorkStore:
    """Keeps the work of one conversation in a text; any number of processes may do so at once.

    Without a text it ends with this process. While a text cannot be kept, it goes on with what
    this process has begun since then: what was begun before is not known meanwhile, so that nothing
    is confirmed that another process may have confirmed already.

    A warning says so, as of a text that is unreadable: nothing is pending then.
    """

    def __init__(
        self,
        text: LockedText | None = None,
        *,
        work: Work | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """``work`` is under way already, here."""
        self.text = text
        self._own = work
        self._own_lock = Lock()
        self._clock = clock

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        conversation: str | None,
        *,
        clock: Clock = utc_now,
        origin: str | None = None,
    ) -> "WorkStore":
        """The work of a conversation; without a name, that of the workspace. Raises MessageError.

        That belongs to the terminal that is at it: while it is open, another one (``origin``) has
        work of its own.
        """
        texts = open_texts(workspace, clock=clock)

        def kept(stem: str) -> WorkStore:
            return cls(texts(f"{FOLDER}/{stem}.json"), clock=clock)

        if conversation is None:
            shared = kept(SHARED)
            if origin is None or not is_other_terminal(shared.load().work.origin, origin):
                return shared
            conversation = origin
        return kept(conversation_path(workspace, conversation).stem)

    def load(self) -> LoadedWork:
        """Return the work as it is; nothing when it has expired."""
        own = LoadedWork(self._own or NOTHING)
        if self.text is None:
            return own
        try:
            content = self.text.read()
        except _AWAY as error:
            return replace(own, warnings=(_told(error),))
        found = self._read(content)
        if content is not None and found.work == NOTHING:
            self.change(lambda work: work)
        return found if self._own is None else own

    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it; returns it as it was before.

        No other process comes between: of two that take the same thing out, one gets it.
        """
        with self._own_lock:
            own, warnings = self._own, tuple[str, ...]()
            if self.text is not None:
                try:
                    kept = self._change(self.text, edit if own is None else lambda _: edit(own))
                    self._own = None
                    return kept if own is None else LoadedWork(own)
                except _AWAY as error:
                    warnings = (_told(error),)
            self._own = edit(own or NOTHING)
            return LoadedWork(own or NOTHING, warnings)

    def clear(self) -> None:
        """Forget all of it."""
        self._own = None
        if self.text is not None and self.text.exists:
            with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
                text.remove()

    def _change(self, text: LockedText, edit: Edit) -> LoadedWork:
        if not text.exists and edit(NOTHING) == NOTHING:
            return LoadedWork(NOTHING)  # there is nothing to keep: looking makes no folder
        text.prepare()
        with text.locked(timeout_s=LOCK_TIMEOUT_S) as held:
            before = self._read(held.read())
            after = edit(before.work)
            if after == NOTHING:
                held.remove()
            else:
                held.replace(self._encoded(after))
        return before

    def _read(self, content: bytes | None) -> LoadedWork:
        try:
            return LoadedWork(NOTHING if content is None else self._decoded(content))
        except _UNREADABLE as error:
            told = f"the work in progress cannot be read ({type(error).__name__})"
            return LoadedWork(NOTHING, (f"{self.text}: {told}: nothing is pending",))

    def _decoded(self, content: bytes) -> Work:
        data = json.loads(content)
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']!r} instead of {VERSION}")
        work: Work = read(Work, {**data, "turn": None})
        if data["turn"] is not None:
            work = replace(work, turn=from_wire(data["turn"]))
        age = self._clock() - read_moment(data["at"], name="at")
        return work if -FUTURE_TOLERANCE <= age <= MAX_AGE else NOTHING

    def _encoded(self, work: Work) -> bytes:
        """A turn's prompt is made anew, and nobody asks for its reasons later. Secrets are marked:
        no part of it may have words that only stand in those of the turn."""
        turn, hidden = work.turn, frozenset[str]()
        if turn is not None:
            hidden = withheld(turn.message, turn.expanded, *(one.text for one in turn.history))
        data = {
            "version": VERSION,
            "at": self._clock().isoformat(),
            **asdict(replace(work, turn=None)),
            "turn": None if turn is None else to_wire(replace(turn, prompt="", records=())),
        }
        return json.dumps(kept_data(data, hidden), ensure_ascii=False).encode()


def _told(error: KdsError) -> str:
    return f"{error.message}: the work in progress is what this process knows of it"


def tidy_work(workspace: Workspace, *, clock: Clock = utc_now) -> None:
    """Remove what conversations left in which nobody has said anything for too long."""
    texts = open_texts(workspace, clock=clock)
    with suppress(StoreError):  # it says nothing any more, whether it goes or stays
        for folder in (FOLDER, workspace.conversations_dir.name):
            texts.remove_older(folder, clock() - MAX_AGE)
