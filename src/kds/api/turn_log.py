"""Remembers and measures routed turns where the memory is on. Never stops a turn.

Off by default; turned on with ``KDS_MEMORY=on``, or ``memory: {enabled: true}`` in the
settings. Which of the two, and when, may change while KDS runs.
"""

import hashlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.environment import MEMORY
from kds.brain.errors import KdsError
from kds.brain.secrets.redaction import reveals, withheld
from kds.brain.turn import Turn, rewriting_to_wire
from kds.brain.workspace import Workspace, own_settings_path

if TYPE_CHECKING:  # the memory costs 130 ms of imports, and is off as a rule
    from kds.brain.memory.memory import ConversationMemory
    from kds.brain.memory.summarizer import Summarizer

logger = logging.getLogger(__name__)

TURN: Final = "turn"
"""Name of what is measured of a turn."""

SHARED: Final = "workspace"
"""Whose terms are remembered when no client names the conversation, and where a message goes that
is about no feature either."""


class TurnRecord(ABC):
    """Is told of the turns of one workspace, and knows what they referred to: in its long memory,
    which is opened when it is first needed. For any number of threads."""

    surface: ClassVar[str]
    on_by_default: ClassVar[bool]
    """Whether it is on by default."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._environ = environ
        self._lock = RLock()
        self._memory: ConversationMemory | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever remembered in this workspace: looking makes no file."""
        from kds.brain.memory.memory_store import MemoryPlace  # as heavy as the memory

        return MemoryPlace.of(self._workspace, environ=self._environ).exists

    @abstractmethod
    def note(self, turn: Turn, conversation: str | None = None) -> str | None:
        """Take note of a turn that was logged; returns what went wrong, if it is to be said."""

    @abstractmethod
    def known(self, conversation: str | None = None) -> Callable[[], Iterable[str]]:
        """What a conversation has referred to, for `kds.api.routing.Router`; asked at each turn."""

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

    def _find_summarizer(self) -> "Summarizer | None":
        """The model that condenses what was said; None: there is none."""
        return None

    def _opened(self) -> "ConversationMemory":
        with self._lock:
            if self._memory is None:
                from kds.brain.memory.memory import ConversationMemory, Tools

                tools = Tools(
                    find_summarizer=self._find_summarizer,
                    clock=self._clock,
                    on_by_default=self.on_by_default,
                    surface=self.surface,
                )
                self._memory = ConversationMemory.open(
                    self._workspace, tools, environ=self._environ
                )
            return self._memory


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
            memory = self._wanted()
            if memory is None:
                return None
            memory.store.metrics.add(TURN, turn_metric(turn, conversation), at=turn.at)
            session = conversation or turn.session_id or SHARED
            memory.add(session, "user", turn.message, at=turn.at)
            memory.remember_turn(
                conversation or SHARED, turn_terms(turn), fresh=turn.context_switch
            )
        except KdsError as error:
            logger.warning("the turn was not remembered: %s", error)
            return f"the turn was not remembered: {error.message}"
        return None

    def known(self, conversation: str | None = None) -> Callable[[], Iterable[str]]:
        """What a conversation has referred to; nothing where the memory is off, or fails."""

        def antecedents() -> Iterable[str]:
            try:
                memory = self._wanted()
                if memory is None:
                    return ()
                return [found.term for found in memory.antecedents(conversation or SHARED)]
            except KdsError as error:
                logger.warning("routed without the memory: %s", error)
                return ()

        return antecedents

    def _wanted(self) -> "ConversationMemory | None":
        """The memory, where it is on now. Without any setting it is off."""
        if self._memory is None and not self._may_be_on():
            return None
        memory = self._opened()
        return memory if memory.flags.enabled else None

    def _may_be_on(self) -> bool:
        files = (self._workspace.settings_path, own_settings_path(self._environ))
        return MEMORY in self._environ or any(path.exists() for path in files)


def turn_terms(turn: Turn) -> list[str]:
    """Return what a turn referred to, and what a new plan is about; nothing of a secret."""
    targets = [reference.target for reference in turn.references if reference.target]
    found = targets or ([turn.context_ref] if turn.context_ref else [])
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
        **({} if turn.rewriting is None else {"rewriting": rewriting_to_wire(turn.rewriting)}),
    }
