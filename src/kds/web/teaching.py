"""“Not what I meant”: the user says which intent a message has, and may take that back."""

import asyncio
from typing import Final

from starlette.responses import Response

from kds.learning.learning import Learning
from kds.learning.teaching import Taught, teach
from kds.service.workspaces import ServedWorkspace
from kds.web.sessions import address
from kds.web.visit import Visit, post
from kds.web.visitors import Note

UNDO: Final = "/chat/unlearn"


async def learn(visit: Visit) -> Response:
    """Let a message be an example of an intent from now on."""
    message, intent = visit.text("message"), visit.text("intent")
    taught = await asyncio.to_thread(_teach, visit.served, message, intent)
    one = taught.example
    said = "Learned" if taught.new else "Learned before"
    secret = "; the secret in it is not kept" if taught.redacted else ""
    fields = (("id", one.id), ("session", visit.text("session")))
    note = Note(f"{said}: “{one.text}” is {one.intent}{secret}.", UNDO, fields)
    return _told(visit, note)


async def unlearn(visit: Visit) -> Response:
    """Take an example back: the file is what it was before."""
    undone = await asyncio.to_thread(_undo, visit.served, visit.text("id"))
    return _told(visit, Note(f"Taken back: “{undone}”."))


def _told(visit: Visit, note: Note) -> Response:
    if visit.partial:
        return visit.part("note.html", note=note)
    return visit.go(address(visit.text("session") or None), note)


def _teach(served: ServedWorkspace, message: str, intent: str) -> Taught:
    taught = teach(served.workspace, message, intent)
    _use(served)
    return taught


def _undo(served: ServedWorkspace, example: str) -> str:
    undone = Learning(served.workspace).undo(example)
    _use(served)
    return f"{undone.text}” as “{undone.intent}"


def _use(served: ServedWorkspace) -> None:
    """Route by it from the next message on; the service would see the file by itself, later."""
    served.reloaded(served.conversations.reloaded())


routes = (post("/chat/learn", learn), post(UNDO, unlearn))
