"""The conversation of a session: its name, its work in progress, and what routes its messages."""

import time
from contextlib import suppress
from typing import Final, Protocol, Self, Unpack

from kds.api.records import Records
from kds.api.session_names import LAST
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import MAX_AGE, Contexts, Journal
from kds.brain.context.names import conversation_path, is_other_terminal, terminal_origin
from kds.brain.context.work import (
    FOLDER,
    NOTHING,
    Edit,
    LoadedWork,
    Work,
    WorkFile,
    WorkStore,
    tidy_work,
)
from kds.brain.errors import ExposedError, OutageError, StoreError
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace, locked_text, shared_database
from kds.router.prompts.library import PromptLibrary
from kds.service.service_client import How, RouterClient
from kds.session.memory import SessionMemory

SHARED: Final = "workspace"
"""Name of the file for the conversation that all windows of a workspace share."""


def work_of(
    workspace: Workspace,
    conversation: str | None,
    *,
    clock: Clock = utc_now,
    origin: str | None = None,
) -> "WorkThroughOutages":
    """Where the work in progress of a conversation is kept. Raises MessageError for its name.

    That of the workspace belongs to the terminal that is at it: while it is open, another one
    (``origin``) has work of its own.
    """
    if conversation is not None:
        return _kept_at(workspace, conversation_path(workspace, conversation).stem, clock)
    shared = _kept_at(workspace, SHARED, clock)
    if origin is None or not is_other_terminal(shared.load().work.origin, origin):
        return shared
    return _kept_at(workspace, conversation_path(workspace, origin).stem, clock)


def _kept_at(workspace: Workspace, stem: str, clock: Clock) -> "WorkThroughOutages":
    text = locked_text(workspace, f"{FOLDER}/{stem}.json", clock=clock)
    return WorkThroughOutages(WorkFile(text, clock=clock))


class WorkThroughOutages(WorkStore):
    """Work that goes on while it cannot be kept, with what this process has begun since then.

    Its server is away, or git would commit its file.

    What was begun before is not known meanwhile: nothing is confirmed that another process may
    have confirmed already. What was begun meanwhile is kept with the next change.
    """

    def __init__(self, kept: WorkFile) -> None:
        self._kept = kept
        self._own: Work | None = None

    def load(self) -> LoadedWork:
        """Return the work as it is, or as this process knows it."""
        try:
            found = self._kept.load()
        except (OutageError, ExposedError) as error:
            return LoadedWork(self._own or NOTHING, (_told(error),))
        return found if self._own is None else LoadedWork(self._own)

    def change(self, edit: Edit) -> LoadedWork:
        """Replace the work by what ``edit`` makes of it; returns it as it was before."""
        own = self._own
        try:
            stored = self._kept.change(edit if own is None else lambda _: edit(own))
        except (OutageError, ExposedError) as error:
            self._own = edit(own or NOTHING)
            return LoadedWork(own or NOTHING, (_told(error),))
        self._own = None
        return stored if own is None else LoadedWork(own)

    def clear(self) -> None:
        """Forget all of it."""
        self._own = None
        self._kept.clear()


def _told(error: OutageError | ExposedError) -> str:
    return f"{error.message}: the work in progress is what this process knows of it"


def tidy(workspace: Workspace, *, clock: Clock = utc_now) -> None:
    """Remove the work of conversations in which nobody has said anything for too long."""
    shared = shared_database(workspace)
    if shared is None:
        tidy_work(workspace.brain / FOLDER, now=time.time)
        return
    from kds.brain.store.tenancy import remove_older  # without a server nothing of the driver

    with suppress(StoreError):  # it says nothing any more, whether it goes or stays
        remove_older(shared, f"{FOLDER}/", clock() - MAX_AGE)


def resume(workspace: Workspace, memory: SessionMemory, name: str, *, clock: Clock) -> str | None:
    """Find the conversation that ``name`` names; None when it is the workspace's own.

    Raises MessageError for what can be no name, and StoreError.
    """
    conversation_path(workspace, name)  # refuses what can be no name
    found = memory.find(name)
    if found is None and name == LAST:
        raise StoreError(
            "there is no last session", where=str(workspace.brain), hint="begin one: kds chat"
        )
    if found is None:
        memory.title, memory.session = name, memory.new_session()
        return memory.session or name
    memory.session = found.id
    shared = work_of(workspace, None, clock=clock).load().work.session
    return None if shared == found.id else found.id


def slip_notes(memory: SessionMemory, name: str | None) -> tuple[str, ...]:
    """What to say when ``name`` names no conversation, and is like the title of one."""
    if name is None or name == LAST or memory.find(name) is not None:
        return ()
    near = memory.like(name)
    return (f"'{name}' is a new conversation; did you mean '{near}'?",) if near else ()


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
        client: Routes,
        *,
        memory: SessionMemory,
        notes: list[str] | None = None,
        origin: str | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """``notes`` are what ``client`` tells, ``origin`` is where its messages come from."""
        super().__init__(
            workspace, library, Contexts(workspace, clock=clock), clock=clock, turns=memory
        )
        self._client = client
        self.origin = origin
        """Where its messages come from (`kds.brain.context.names`)."""
        self._notes = [] if notes is None else notes

    @classmethod
    def open(cls, workspace: Workspace, memory: SessionMemory, *, clock: Clock = utc_now) -> Self:
        """Load the prompts of ``workspace``, and without a service all that routing needs.

        Raises ConfigError when a file does not load.
        """
        notes: list[str] = []
        client = RouterClient(workspace, turns=memory, clock=clock, tell=notes.append)
        served = client.find() is not None
        library = PromptLibrary.load(workspace.prompts_dir) if served else client.own().library
        origin = terminal_origin()
        return cls(
            workspace, library, client, notes=notes, memory=memory, origin=origin, clock=clock
        )

    @property
    def alone(self) -> bool:
        """Whether there was no service that could have been asked."""
        return self._client.alone

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""
        how.setdefault("origin", self.origin)
        return self._client.route(message, **how)

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
