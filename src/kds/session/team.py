"""A session whose messages are routed and remembered by a team's service; the model is the user's.

The work in progress stays with the terminal it is begun in, on this machine.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kds.brain.context.journal import Journal, LoadedContext
from kds.brain.memory.memory import MemoryPassage, PromptMemory
from kds.brain.memory.sessions import Session
from kds.brain.passages.details import AnswerDetails, Quote
from kds.brain.passages.values import Message, Role
from kds.brain.turn import ContextEntry, Turn
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.service.team_client import TeamService
from kds.service.team_stores import TeamMemory
from kds.session.memory import Said, SessionMemory
from kds.session.planning import NearestConversations

EARLIER: Final = 20
"""Messages of a session that an agent gets to see: ten turns, as `kds.transit` has it."""


class TeamSessionMemory(SessionMemory):
    """What the service remembers of a conversation."""

    def __init__(self, workspace: Workspace, service: TeamService, *, keeps: bool = True) -> None:
        super().__init__(workspace, keeps=keeps)
        self.service = service
        self._store = TeamMemory(service)
        self._begun: str | None = None

    @property
    def exists(self) -> bool:
        """The service says when it keeps nothing."""
        return True

    @property
    def enabled(self) -> bool:
        """The service says when it keeps nothing."""
        return True

    def note(self, turn: Turn, conversation: str | None = None) -> None:
        """Remember what the user said."""
        self._kept("the message was not remembered", lambda: self._add("user", turn.message))

    def answered_by(self) -> Callable[[Turn, AnswerDetails], None]:
        """The service keeps what was said, and not how an agent here came to it."""
        return lambda turn, answer: None

    def close_turn(self, turn: Turn, answer: str, conversation: str | None = None) -> None:
        """The service finds out itself what is referred to."""

    def condense(self) -> None:
        """The service summarises by itself."""

    def known(self, conversation: str | None = None) -> tuple[str, ...]:
        """The service knows."""
        return ()

    def forget(self, conversation: str | None = None) -> None:
        """The service does, as it clears the context."""

    def earlier(self, message: str) -> tuple[Said, ...]:
        """The last messages of the session, without ``message``."""
        nothing: tuple[Message, ...] = ()
        told = self._tried(
            "asked without what was said before",
            lambda: self._newest(EARLIER, details=False),
            nothing,
        )
        said = [Said(one.role, one.content) for one in told if one.role in ("user", "assistant")]
        if message.strip() and said and said[-1].text == message:
            said.pop()
        return tuple(said)

    def for_prompt(self, turn: Turn, earlier: Iterable[Said]) -> PromptMemory:
        """Nothing: what other sessions say stays at the service."""
        return PromptMemory()

    def quotes(self, passages: Iterable[MemoryPassage]) -> tuple[Quote, ...]:
        """Nothing was quoted."""
        return ()

    def sessions(self) -> tuple[Session, ...]:
        """Every session of the user at the service, the one changed last first."""
        return self._store.sessions(limit=10_000)

    def _newest(self, count: int, *, details: bool) -> tuple[Message, ...]:
        found = self._store.find_session(self.session) if self.session else None
        return self._store.newest(found, count) if found else ()

    def _add(
        self,
        role: Role,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | None = None,
        details: str | None = None,
    ) -> None:
        if self.session is None:
            return
        if self._begun != self.session:
            if self._store.find_session(self.session) is None:
                self._store.begin(self.session, self.title)
            self._begun = self.session
        self._store.say(self.session, role, text, speaker)


@dataclass(frozen=True, slots=True)
class TeamJournal(Journal):
    """The context of a conversation at the service."""

    service: TeamService
    conversation: str | None

    def load(self) -> LoadedContext:
        """What is remembered, oldest first."""
        return self.service.context(self.conversation)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Remember a message; ``fresh``: and nothing from before."""
        if fresh:
            self.clear()
        return self.service.log(
            {
                "message": entry.user_message,
                "intent": entry.intent,
                "context_ref": entry.context_ref,
                "session_id": entry.session_id,
                "conversation": self.conversation,
            }
        )

    def clear(self) -> int:
        """Forget it; returns how many entries there were."""
        return self.service.clear(self.conversation)


class TeamConversations(NearestConversations):
    """Conversations that the service routes, with the prompts of this workspace."""

    def __init__(self, memory: TeamSessionMemory) -> None:
        library = PromptLibrary.load(memory.workspace.prompts_dir)
        super().__init__(memory.workspace, library, memory.service, memory=memory)

    def journal(self, conversation: str | None = None, **how: Any) -> Journal:
        """The context of a conversation at the service."""
        assert isinstance(self.turns, TeamSessionMemory)
        return TeamJournal(self.turns.service, conversation)

    def _noted(self, turn: Turn, conversation: str | None) -> Turn:
        self.turns.note(turn, conversation)
        return turn
