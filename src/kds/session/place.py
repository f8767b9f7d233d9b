"""Which conversation a session is in: by its name, and where its work in progress is."""

from pathlib import Path
from typing import Final

from kds.api.session_names import LAST
from kds.brain.clock import Clock, utc_now
from kds.brain.contexts import conversation_path
from kds.brain.errors import StoreError
from kds.brain.work_file import FOLDER, WorkFile
from kds.brain.workspace import Workspace
from kds.session.memory import SessionMemory

SHARED: Final = "workspace"
"""Name of the file for the conversation that all windows of a workspace share."""


def work_folder(workspace: Workspace) -> Path:
    """The folder with the work in progress, a file for each conversation."""
    return workspace.brain / FOLDER


def work_of(workspace: Workspace, conversation: str | None, *, clock: Clock = utc_now) -> WorkFile:
    """Where the work in progress of a conversation is kept. Raises MessageError for its name."""
    stem = SHARED if conversation is None else conversation_path(workspace, conversation).stem
    path = work_folder(workspace) / f"{stem}.json"
    return WorkFile(path, clock=clock, ensure=workspace.ensure)


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
