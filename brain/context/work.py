"""The work in progress of a conversation: what is done next, if the user says so.

What waits for a yes, what else a message asked for, where the work may go next, and what was
halted last. `WorkFile` keeps it for other processes (`kds ask "commit this"`, then `kds ask yes`)
as one JSON object, private, replaced at once under a lock. It expires with the conversation
context: a yes of tomorrow confirms nothing. Secrets are replaced by marks; replies are not in it.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.journal import FUTURE_TOLERANCE, LOCK_TIMEOUT_S, MAX_AGE
from kds.brain.errors import StoreError
from kds.brain.files import LockedText
from kds.brain.secrets.redaction import withheld
from kds.brain.store.columns import kept_data
from kds.brain.turn import Turn, from_wire, read, to_wire


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

VERSION: Final = 1
"""Of the file. One of another version is set aside: what is pending is asked for again."""


@dataclass(frozen=True, slots=True)
class LoadedWork:
    """The work as it was found, and what was wrong with the file."""

    work: Work
    warnings: tuple[str, ...] = ()


Edit = Callable[[Work], Work]


class WorkStore(ABC):
    """Where the work in progress of one conversation is kept."""

    @abstractmethod
    def load(self) -> LoadedWork:
        """Return the work as it is."""

    @abstractmethod
    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it, at once; returns it as it was before."""

    def clear(self) -> None:
        """Forget all of it."""
        self.change(lambda _: NOTHING)


class WorkInMemory(WorkStore):
    """Work that no other process sees, and that ends with this one."""

    def __init__(self, work: Work = NOTHING) -> None:
        self._work = work
        self._lock = Lock()

    def load(self) -> LoadedWork:
        """Return the work as it is."""
        return LoadedWork(self._work)

    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it; returns it as it was before."""
        with self._lock:
            before = self._work
            self._work = edit(before)
        return LoadedWork(before)


class WorkFile(WorkStore):
    """Keeps the work in a text; any number of processes may do so at once.

    Every method raises StoreError when it cannot be used, `change` also what making its folder
    raises. A text that cannot be read is set aside, and a warning says so: nothing is pending then.
    """

    def __init__(
        self, text: LockedText, *, clock: Clock = utc_now, lock_timeout_s: float = LOCK_TIMEOUT_S
    ) -> None:
        self.text = text
        self._clock = clock
        self._lock_timeout_s = lock_timeout_s

    def load(self) -> LoadedWork:
        """Return the work as it is; nothing when it has expired."""
        content = self.text.read()
        if content is None:
            return LoadedWork(NOTHING)
        try:
            found = self._decoded(content)
        except _UNREADABLE:
            return self.change(lambda work: work)
        if found == NOTHING:
            with suppress(StoreError):  # it says nothing any more, whether it goes or stays
                self.change(lambda work: work)
        return LoadedWork(found)

    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it; returns it as it was before.

        No other process comes between: of two that take the same thing out, one gets it.
        """
        if not self.text.exists and edit(NOTHING) == NOTHING:
            return LoadedWork(NOTHING)  # there is nothing to keep: looking makes no folder
        self.text.prepare()
        with self.text.locked(timeout_s=self._lock_timeout_s) as text:
            content, before = text.read(), LoadedWork(NOTHING)
            try:
                before = LoadedWork(NOTHING if content is None else self._decoded(content))
            except _UNREADABLE as error:
                text.aside.replace(content or b"")
                reason = error.message if isinstance(error, StoreError) else str(error)
                reason = f"unreadable ({type(error).__name__}: {reason})"
                warning = f"{text}: {reason}; set aside in {text.aside.name}, nothing is pending"
                before = LoadedWork(NOTHING, (warning,))
            after = edit(before.work)
            if after == NOTHING:
                text.remove()
            else:
                text.replace(self._encoded(after))
        return before

    def clear(self) -> None:
        """Forget all of it, and what was set aside."""
        if self.text.exists or self.text.aside.exists:
            with self.text.locked(timeout_s=self._lock_timeout_s) as text:
                text.remove()
                text.aside.remove()

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


_UNREADABLE: Final = (ValueError, TypeError, KeyError, RecursionError, StoreError)
_OURS: Final = re.compile(r"[a-z0-9-]+\.json(?:\.bad)?")


def tidy_work(folder: Path, *, now: Callable[[], float]) -> int:
    """Remove the files in ``folder`` that have expired by ``now`` (epoch s); returns how many.

    Their locks go as well; files of other names stay, and all behind a link.
    """
    if folder.is_symlink():
        return 0
    horizon = now() - MAX_AGE.total_seconds()
    count = 0
    for path in folder.glob("*.json*"):
        with suppress(OSError):  # another process was faster
            if _OURS.fullmatch(path.name) and path.lstat().st_mtime < horizon:
                path.unlink()
                path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
                count += 1
    return count
