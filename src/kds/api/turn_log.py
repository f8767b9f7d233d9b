"""The long memory as surfaces use it: sessions by name, and routed turns, which it never stops.

Off by default; turned on with ``KDS_MEMORY=on``, or ``memory: {enabled: true}`` in the
settings. Which of the two, and when, may change while KDS runs.
"""

import hashlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.environment import MEMORY
from kds.brain.errors import KdsError, StoreError
from kds.brain.secrets.redaction import reveals, withheld
from kds.brain.turn import MS_DIGITS, Turn, plain
from kds.brain.workspace import Workspace, own_settings_path

if TYPE_CHECKING:  # the memory costs 130 ms of imports, and is off as a rule
    from kds.brain.memory.memory import ConversationMemory
    from kds.brain.memory.memory_store import MemoryStore
    from kds.brain.memory.sessions import Session
    from kds.brain.memory.summarizer import Summarizer

logger = logging.getLogger(__name__)

SHARED: Final = "workspace"
"""Whose terms are remembered when no client names the conversation, and where a message goes that
is about no feature either."""

LAST: Final = "last"
"""Names the session that was changed last."""

NOTHING: Final = "nothing is remembered yet"

_PAGE: Final = 500
_CHOICES: Final = 5


class TurnRecord(ABC):
    """Is told of the turns of one workspace, and knows what they referred to: in its long memory,
    which is opened when it is first needed. For any number of threads."""

    surface: ClassVar[str]
    on_by_default: ClassVar[bool]

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.workspace = workspace
        self.clock = clock
        self.summarizer: Summarizer | None = None
        """What condenses what was said with a model, if there is one."""
        self._environ = environ
        self._lock = RLock()
        self._memory: ConversationMemory | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever remembered in this workspace: looking makes no file."""
        from kds.brain.memory.memory_store import MemoryPlace  # as heavy as the memory

        return MemoryPlace.of(self.workspace, environ=self._environ).exists

    @abstractmethod
    def note(self, turn: Turn, conversation: str | None = None) -> str | None:
        """Take note of a turn that was logged; returns what went wrong, if it is to be said."""

    @abstractmethod
    def known(self, conversation: str | None = None) -> Sequence[str]:
        """What a conversation has referred to; nothing where that is not remembered."""

    def forget(self, conversation: str | None = None) -> None:
        """Forget what a conversation has referred to, as its context is cleared. Raises StoreError.

        The messages stay: they belong to the long memory (`kds memory delete`).
        """
        if self.exists:
            self._opened().store.entities.forget(conversation or SHARED)

    def close(self) -> None:
        """Let go of the memory; whatever comes next opens it again."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    def _opened(self) -> "ConversationMemory":
        from kds.brain.memory.memory import ConversationMemory, Tools

        with self._lock:
            if self._memory is None:
                tools = Tools(
                    find_summarizer=lambda: self.summarizer,
                    clock=self.clock,
                    on_by_default=self.on_by_default,
                    surface=self.surface,
                )
                self._memory = ConversationMemory.open(self.workspace, tools, environ=self._environ)
            return self._memory

    def _antecedents(self, conversation: str | None) -> list[str]:
        return [found.term for found in self._opened().antecedents(conversation or SHARED)]


class TurnLog(TurnRecord):
    """The turns of one workspace in its long memory."""

    surface = "router"
    on_by_default = False

    def note(self, turn: Turn, conversation: str | None = None) -> str | None:
        """Store what was said, what it referred to, and its figures, if that is wanted.

        The message goes to the session of the conversation, else of the feature it is about
        (`fab-button-20251103`), else to the workspace's own. What goes wrong
        is logged, and returned.
        """
        try:
            if self._is_on():
                self._opened().note_turn(
                    conversation or turn.session_id or SHARED,
                    turn.message,
                    turn_metric(turn, conversation),
                    at=turn.at,
                    about=conversation or SHARED,
                    terms=terms_of(turn),
                    fresh=turn.context_switch,
                )
        except KdsError as error:
            logger.warning("the turn was not remembered: %s", error)
            return f"the turn was not remembered: {error.message}"
        return None

    def known(self, conversation: str | None = None) -> Sequence[str]:
        """What a conversation has referred to; nothing where the memory is off, or fails."""
        try:
            return self._antecedents(conversation) if self._is_on() else ()
        except KdsError as error:
            logger.warning("routed without the memory: %s", error)
            return ()

    def _is_on(self) -> bool:
        """Whether the memory is on now. Without any setting it is off, and is not loaded."""
        files = (self.workspace.settings_path, own_settings_path(self._environ))
        may_be = MEMORY in self._environ or any(path.exists() for path in files)
        return (may_be or self._memory is not None) and bool(self._opened().flags.enabled)


def terms_of(turn: Turn) -> list[str]:
    """What a turn referred to, and what a new plan is about; nothing of a secret."""
    targets = [reference.target for reference in turn.references if reference.target]
    if not (found := targets or ([turn.context_ref] if turn.context_ref else [])):
        return []
    hidden = withheld(turn.message, turn.expanded, *(one.text for one in turn.history))
    return [term for term in found if not reveals(term, hidden)]


def turn_metric(turn: Turn, conversation: str | None = None) -> Mapping[str, object]:
    """What is measured of a turn: the decision and its cost, never a word of the message.

    The name of the conversation is hashed: it only has to be the same for the next turn.
    """
    name = (conversation or "").encode(errors="surrogatepass")
    return {
        "conversation": hashlib.sha256(name).hexdigest()[:12],
        "intent": turn.intent,
        "action": turn.action,
        "confidence": round(turn.confidence, 4),
        "references": len(turn.references),
        "unresolved": len(turn.unresolved),
        "switch": turn.context_switch,
        "cpu_ms": {record.step: round(record.cpu_ms, 3) for record in turn.records},
        **({"rewriting": plain(turn.rewriting, digits=MS_DIGITS)} if turn.rewriting else {}),
    }


def find_session(store: "MemoryStore | None", name: str) -> "Session":
    """Find the session with this id, title, beginning of the id or part of the title; or `last`.

    Raises StoreError when there is none, several, or no store at all.
    """
    if store is None:
        hint = f"{NOTHING} here: `kds ask` remembers, or `kds config set memory.enabled on`"
        raise StoreError(f"no session '{name}'", hint=hint)
    if (exact := store.find_session(name)) is not None:
        return exact
    sessions, wanted = all_sessions(store), name.casefold()
    if name == LAST and sessions:
        return sessions[0]
    ways = (
        [one for one in sessions if one.title.casefold() == wanted],
        [one for one in sessions if one.id.startswith(name)],
        [one for one in sessions if wanted in one.title.casefold()],
    )
    found = next((way for way in ways if way), [])
    if len(found) == 1:
        return found[0]
    if not found:
        raise StoreError(f"no session '{name}'", hint="kds memory show lists those there are")
    listed = ", ".join(f"{one.id} ({one.title})" for one in found[:_CHOICES])
    message = f"'{name}' may be any of {len(found)} sessions"
    raise StoreError(message, hint=f"name one: {listed}")


def session_page(
    store: "MemoryStore | None", *, limit: int, offset: int
) -> "tuple[tuple[Session, ...], int | None]":
    """Return a page of the sessions, the one changed last first, and where the next page begins.

    None on the last page. Without a store there are none.
    """
    found = store.sessions(limit=limit + 1, offset=offset) if store else ()
    return found[:limit], offset + limit if len(found) > limit else None


def all_sessions(store: "MemoryStore") -> "tuple[Session, ...]":
    """Return every session, the one changed last first."""
    found: list[Session] = []
    while page := store.sessions(limit=_PAGE, offset=len(found)):
        found += page
    return tuple(found)
