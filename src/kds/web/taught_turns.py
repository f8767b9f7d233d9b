"""“Not what I meant”: the user says what was meant, an intent or a thing, and may take it back."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from starlette.responses import Response

from kds.brain.memory.records import Session
from kds.brain.turn import Turn
from kds.learning.antecedents import corrections_of
from kds.learning.teaching import Learning, LearningError, teach, teach_reference
from kds.router.references.resolver import Resolver
from kds.service.errors import NotServedError
from kds.service.workspaces import ServedWorkspace
from kds.web.chat_view import choices_of
from kds.web.door import Note
from kds.web.session_changes import address, store_of, talks_of
from kds.web.visit import Visit, get, post

UNDO: Final = "/chat/unlearn"

_Result = TypeVar("_Result")


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
        teach_it = partial(teach_reference, visit.served.workspace, one.text, one.antecedent)
        learned = (await _learned(visit, teach_it)).reference
    except LearningError as error:
        return Note(f"Said so; {error.message}.")
    fields = (("id", learned.id), ("session", visit.text("session")))
    note = f"Learned: “{learned.text}” is “{learned.antecedent}” where that was mentioned."
    return Note(note, UNDO, fields)


async def _turn(visit: Visit) -> tuple[Session, Turn]:
    chosen, seq = visit.text("session"), visit.number("seq", 0)

    def read() -> tuple[Session, datetime | None]:
        store = store_of(visit.served, chosen)
        found = store.messages(chosen, last=1, before_seq=seq + 1)
        return store.session(chosen), found[0].at if found else None

    session, at = await visit.archive(read)
    talk = await talks_of(visit).find(visit.served, chosen)
    turn = talk.turns.get(at) if at is not None else None
    if turn is None:
        raise NotServedError("nothing is known any more of this message", hint="say it again")
    return session, turn


async def learn(visit: Visit) -> Response:
    """Let a message be an example of an intent from now on, whatever was taught before."""
    message, intent = visit.text("message"), visit.text("intent")
    taught = await _learned(
        visit, partial(teach, visit.served.workspace, message, intent, force=True)
    )
    one = taught.example
    said = "Learned" if taught.new else "Learned before"
    instead = f", no longer {taught.instead_of}" if taught.instead_of else ""
    secret = "; the secret in it is not kept" if taught.redacted else ""
    fields = (("id", one.id), ("session", visit.text("session")))
    note = Note(f"{said}: “{one.text}” is {one.intent}{instead}{secret}.", UNDO, fields)
    return _told(visit, note)


async def unlearn(visit: Visit) -> Response:
    """Take back what was learned: the file is what it was before."""
    name = visit.text("id")
    undone = await _learned(visit, lambda: Learning(visit.served.workspace).undo(name))
    return _told(visit, Note(f"Taken back: {undone.told}."))


def _told(visit: Visit, note: Note) -> Response:
    if visit.partial:
        return visit.part("note.html", note=note)
    return visit.go(address(visit.text("session") or None), note)


async def _learned(visit: Visit, change: Callable[[], _Result]) -> _Result:
    return await asyncio.to_thread(change)


def _resolver(served: ServedWorkspace) -> Resolver:
    return served.conversations.parts.resolver


routes = (get("/chat/mend", mend), post("/chat/learn", learn), post(UNDO, unlearn))
