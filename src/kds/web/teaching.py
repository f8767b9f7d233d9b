"""“Not what I meant”: the user says what was meant, an intent or a thing, and may take it back."""

import asyncio
from datetime import datetime
from typing import Any, Final

from starlette.responses import Response

from kds.brain.learning.reference import LearnedReference
from kds.brain.sessions.session_values import Session
from kds.brain.turn import Turn
from kds.learning.antecedents import Correction, corrections_of
from kds.learning.learning import Learning, LearningError
from kds.learning.references import teach_reference
from kds.learning.teaching import Taught, teach
from kds.router.references.resolver import Resolver
from kds.service.errors import NotServedError
from kds.service.workspaces import ServedWorkspace
from kds.web.sessions import address, store_of
from kds.web.talks import Talks
from kds.web.turn_view import choices_of
from kds.web.visit import Visit, get, post
from kds.web.visitors import Note

UNDO: Final = "/chat/unlearn"


async def mend(visit: Visit) -> Response:
    """What may have been meant: every intent, and what else the words may point to.

    Raises NotServedError when the service no longer knows what it made of the message.
    """
    session, turn = await _turn(visit)
    corrections = await visit.route(lambda: corrections_of(turn, _resolver(visit.served)))
    values: dict[str, Any] = {
        "session": session,
        "turn": turn,
        "intents": choices_of(visit.served.conversations.library),
        "corrections": corrections,
        "seq": visit.number("seq", 0),
    }
    if visit.partial:
        return visit.part("mend.html", **values)
    return visit.page("mend_page.html", title="What was meant", **values)


async def point(visit: Visit) -> Note:
    """Learn which thing a description means, from the message that says it outright.

    Raises NotServedError as `mend` does.
    """
    _, turn = await _turn(visit)
    said = visit.text("message")
    found = await visit.route(lambda: corrections_of(turn, _resolver(visit.served)))
    one = next((one for one in found if one.message == said), None)
    if one is None:
        return Note("Said so. What it was said instead of is not known any more.")
    try:
        learned = await asyncio.to_thread(_point, visit.served, one)
    except LearningError as error:
        return Note(f"Said so; {error.message}.")
    fields = (("id", learned.id), ("session", visit.text("session")))
    note = f"Learned: “{learned.text}” is “{learned.antecedent}” where that was mentioned."
    return Note(note, UNDO, fields)


async def _turn(visit: Visit) -> tuple[Session, Turn]:
    chosen, seq = visit.text("session"), visit.number("seq", 0)
    talks: Talks = visit.request.app.state.talks

    def read() -> tuple[Session, datetime | None]:
        store = store_of(visit.served, chosen)
        found = store.messages(chosen, last=1, before_seq=seq + 1)
        return store.session(chosen), found[0].at if found else None

    session, at = await visit.archive(read)
    talk = await talks.find(visit.served, chosen)
    turn = talk.turns.get(at) if at is not None else None
    if turn is None:
        raise NotServedError("nothing is known any more of this message", hint="say it again")
    return session, turn


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
    """Take back what was learned: the file is what it was before."""
    undone = await asyncio.to_thread(_undo, visit.served, visit.text("id"))
    return _told(visit, Note(f"Taken back: {undone}."))


def _told(visit: Visit, note: Note) -> Response:
    if visit.partial:
        return visit.part("note.html", note=note)
    return visit.go(address(visit.text("session") or None), note)


def _teach(served: ServedWorkspace, message: str, intent: str) -> Taught:
    taught = teach(served.workspace, message, intent)
    _use(served)
    return taught


def _point(served: ServedWorkspace, one: Correction) -> LearnedReference:
    taught = teach_reference(served.workspace, one.text, one.antecedent)
    _use(served)
    return taught.reference


def _undo(served: ServedWorkspace, learned: str) -> str:
    undone = Learning(served.workspace).undo(learned)
    _use(served)
    return undone.told


def _resolver(served: ServedWorkspace) -> Resolver:
    return served.conversations.parts.resolver


def _use(served: ServedWorkspace) -> None:
    """Route by it from the next message on; the service would see the file by itself, later."""
    served.reloaded(served.conversations.reloaded())


routes = (get("/chat/mend", mend), post("/chat/learn", learn), post(UNDO, unlearn))
