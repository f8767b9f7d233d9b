"""A session whose messages are routed and remembered by a team's service; the model is the user's.

The work in progress stays with the terminal it is begun in, on this machine.
"""

from dataclasses import dataclass
from typing import Any, Final

from kds.api.conversations import Records
from kds.brain.context.journal import Contexts, Journal, LoadedContext
from kds.brain.memory.sessions import Session, new_id
from kds.brain.passages.values import Message, Role
from kds.brain.turn import ContextEntry, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.service.team_client import TeamService
from kds.service.team_stores import TeamMemory
from kds.session.memory import Found, Noted, SessionMemory, Use

EARLIER: Final = 20
"""Messages of a session that an agent gets to see: ten turns, as `kds.transit` has it."""


class TeamSessionMemory(SessionMemory):
    """What the service remembers of a conversation: what was said.

    It says itself when it keeps nothing. How an agent here came to its answer is not kept, and
    what other sessions say stays there.
    """

    exists = True

    def __init__(self, workspace: Workspace, service: TeamService, *, keeps: bool = True) -> None:
        super().__init__(workspace, keeps=keeps)
        self.service = service
        self._store = TeamMemory(service)
        self._begun: str | None = None

    def forget(self, conversation: str | None = None) -> None:
        """The service does, as it clears the context."""

    def earlier(self, message: str = "") -> tuple[Utterance, ...]:
        """The last messages of the session, without ``message``."""
        told = [one for one in self._newest(EARLIER) if one.role in ("user", "assistant")]
        if message.strip() and told and told[-1].content == message:
            told.pop()
        return tuple(
            Utterance(one.content, "user" if one.role == "user" else "assistant") for one in told
        )

    def sessions(self) -> tuple[Session, ...]:
        """Every session of the user at the service, the one changed last first."""
        return self._store.sessions(limit=10_000)

    def new_session(self) -> str | None:
        """An id for a session that begins with its first message."""
        return new_id() if self._keeps else None

    def _newest(self, count: int, *, details: bool = False) -> tuple[Message, ...]:
        def read() -> tuple[Message, ...]:
            found = self._store.find_session(self.session) if self.session else None
            return self._store.messages(found.id, last=count) if found else ()

        return self._tried("asked without what was said before", read, ())

    def _say(
        self, role: Role, text: str, speaker: str | None = None, noted: Noted | None = None
    ) -> str | None:
        def say() -> None:
            session = self.session
            if session is None or not self._keeps:
                return
            if self._begun != session and self._store.find_session(session) is None:
                self._store.begin(session, self.title)
            self._begun = session
            self._store.say(session, role, text, speaker)

        what = "message" if role == "user" else "reply"
        self._tried(f"the {what} was not remembered", say, None)
        return None

    def _with(
        self, failing: str, use: Use[Found], nothing: Found, *, writes: bool = False
    ) -> Found:
        """Nothing: there is no memory on this machine."""
        return nothing


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
        said = {
            "message": entry.user_message,
            "intent": entry.intent,
            "context_ref": entry.context_ref,
            "session_id": entry.session_id,
            "conversation": self.conversation,
        }
        return self.service.log(said)

    def clear(self) -> int:
        """Forget it; returns how many entries there were."""
        return self.service.clear(self.conversation)


class TeamRecords(Records):
    """Conversations that the service routes, with the prompts of this workspace."""

    def __init__(self, memory: TeamSessionMemory) -> None:
        workspace = memory.workspace
        library = PromptLibrary.load(workspace.prompts_dir)
        super().__init__(workspace, library, Contexts(workspace), memory)
        self._service = memory.service

    def journal(self, conversation: str | None = None, **how: Any) -> Journal:
        """The context of a conversation at the service."""
        return TeamJournal(self._service, conversation)

    def _noted(self, turn: Turn, conversation: str | None) -> Turn:
        self.turns.note(turn, conversation)
        return turn
