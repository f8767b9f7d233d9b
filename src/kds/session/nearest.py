"""The conversations of a session, routed by the service of the workspace where one runs.

Then only the prompts are loaded here, to run their agents: neither rules nor language nor the
intent model. When the service goes away, this process loads those, and goes on.
"""

from typing import Protocol, Self, Unpack

from kds.api.records import Records
from kds.brain.clock import Clock, utc_now
from kds.brain.context.conversations import Contexts
from kds.brain.context.journal import Journal
from kds.brain.context.origin import terminal_origin
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.service.desk import Desk
from kds.service.service_client import How
from kds.session.session_memory import SessionMemory


class Routes(Protocol):
    """What routes the messages of a session, wherever that is done."""

    @property
    def alone(self) -> bool:
        """Whether there was no service that could have been asked."""
        ...

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""
        ...


class NearestConversations(Records):
    """Routes the messages of a session, wherever that is done. Make it with `open`."""

    def __init__(
        self,
        workspace: Workspace,
        library: PromptLibrary,
        desk: Routes,
        *,
        memory: SessionMemory,
        notes: list[str] | None = None,
        origin: str | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """``notes`` are what ``desk`` tells, ``origin`` is where its messages come from."""
        super().__init__(
            workspace, library, Contexts(workspace, clock=clock), clock=clock, turns=memory
        )
        self._desk = desk
        self.origin = origin
        """Where its messages come from (`kds.brain.context.origin`)."""
        self._notes = [] if notes is None else notes

    @classmethod
    def open(cls, workspace: Workspace, memory: SessionMemory, *, clock: Clock = utc_now) -> Self:
        """Load the prompts of ``workspace``, and without a service all that routing needs.

        Raises ConfigError when a file does not load.
        """
        notes: list[str] = []
        desk = Desk(workspace, turns=memory, clock=clock, tell=notes.append)
        served = desk.find() is not None
        library = PromptLibrary.load(workspace.prompts_dir) if served else desk.own().library
        origin = terminal_origin()
        return cls(workspace, library, desk, notes=notes, memory=memory, origin=origin, clock=clock)

    @property
    def alone(self) -> bool:
        """Whether there was no service that could have been asked."""
        return self._desk.alone

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""
        how.setdefault("origin", self.origin)
        return self._desk.route(message, **how)

    def journal(
        self,
        conversation: str | None = None,
        *,
        join: bool = False,
        inherit: bool = True,
        origin: str | None = None,
    ) -> Journal:
        """As `Records.journal`, from where the session's messages come from."""
        origin = origin or self.origin
        return super().journal(conversation, join=join, inherit=inherit, origin=origin)

    def take_notes(self) -> tuple[str, ...]:
        """What there is to tell since this was last called."""
        notes = tuple(dict.fromkeys(self._notes))
        self._notes.clear()
        return notes
