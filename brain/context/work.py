"""The work in progress of a conversation: what is done next, if the user says so.

What waits for a yes, what else a message asked for, where the work may go next, and what was
halted last. `kds.brain.context.work_file` keeps it for other processes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from kds.brain.turn import Turn


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
    """In which terminal it goes on (`kds.brain.context.origin`)."""

    @property
    def pending(self) -> tuple[str, ...]:
        """Every intent that is still to come without being asked for anew."""
        return (*((self.confirm,) if self.confirm else ()), *self.rest)

    def idle(self) -> "Work":
        """The same conversation with nothing under way."""
        return Work(session=self.session, origin=self.origin)


NOTHING: Final = Work()


@dataclass(frozen=True, slots=True)
class LoadedWork:
    """The work as it was found, and what was wrong with the file."""

    work: Work
    warnings: tuple[str, ...] = ()


Edit = Callable[[Work], Work]


class WorkStore(Protocol):
    """Where the work in progress of one conversation is kept."""

    def load(self) -> LoadedWork:
        """Return the work as it is."""
        ...

    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it, at once; returns it as it was before."""
        ...

    def clear(self) -> None:
        """Forget all of it."""
        ...


class WorkInMemory:
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

    def clear(self) -> None:
        """Forget all of it."""
        self.change(lambda _: NOTHING)
