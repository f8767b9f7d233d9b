"""“Not what I meant”: the user says what was meant, an intent or a thing, and may take it back."""

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from starlette.responses import Response

from kds.brain.learning.phrases import thing
from kds.brain.memory.records import Session
from kds.brain.passages.details import Details, decode
from kds.brain.turn import Turn
from kds.learning.teaching import Learning, LearningError, teach, teach_reference
from kds.router.conversation import remembered
from kds.router.references.rendering import in_place_of
from kds.router.references.resolver import Resolver
from kds.router.references.scene import Scene
from kds.router.references.taught import described, things
from kds.service.errors import NotServedError
from kds.service.workspaces import ServedWorkspace
from kds.web.auth import Note
from kds.web.chat_view import choices_of
from kds.web.request_context import RequestContext, get, path_of, post
from kds.web.session_changes import address

UNDO: Final = "/chat/unlearn"

_Result = TypeVar("_Result")


async def mend(context: RequestContext) -> Response:
    """What may have been meant: every intent, and what else the words may point to.

    Raises NotServedError when it is not kept what was made of the message.
    """
    session, turn = await _turn(context)
    corrections = await context.route(lambda: corrections_of(turn, _resolver(context.served)))
    values: dict[str, Any] = {
        "session": session,
        "turn": turn,
        "intents": choices_of(context.served.conversations.library),
        "corrections": corrections,
        "seq": context.number("seq", 0),
    }
    if context.partial:
        return context.part("mend.html", **values)
    return context.page("mend_page.html", title="What was meant", **values)


async def point(context: RequestContext) -> Note:
    """Learn which thing a description means, from the message that says it outright.

    Raises NotServedError as `mend` does.
    """
    _, turn = await _turn(context)
    said = context.text("message")
    found = await context.route(lambda: corrections_of(turn, _resolver(context.served)))
    one = next((one for one in found if one.message == said), None)
    if one is None:
        return Note("Said so. What it was said instead of is not known any more.")
    try:
        teach_it = partial(teach_reference, context.served.workspace, one.text, one.antecedent)
        learned = (await _learned(context, teach_it)).reference
    except LearningError as error:
        return Note(f"Said so; {error.message}.")
    fields = (("id", learned.id), ("session", context.text("session")))
    note = f"Learned: “{learned.text}” is “{learned.antecedent}” where that was mentioned."
    return Note(note, UNDO, fields)


async def _turn(context: RequestContext) -> tuple[Session, Turn]:
    chosen, seq = context.text("session"), context.number("seq", 0)

    def read() -> tuple[Session, Details | None]:
        store = context.served.store_of(chosen)
        found = store.messages(chosen, last=1, before_seq=seq + 1, details=True)
        return store.session(chosen), decode(found[0].details, found[0].content) if found else None

    session, details = await context.archive(read)
    if details is None:
        raise NotServedError("nothing is known of this message", hint="say it again")
    return session, details.turn


async def learn(context: RequestContext) -> Response:
    """Let a message be an example of an intent from now on, whatever was taught before."""
    message, intent = context.text("message"), context.text("intent")
    taught = await _learned(
        context, partial(teach, context.served.workspace, message, intent, force=True)
    )
    one = taught.example
    said = "Learned" if taught.new else "Learned before"
    instead = f", no longer {taught.instead_of}" if taught.instead_of else ""
    secret = "; the secret in it is not kept" if taught.redacted else ""
    fields = (("id", one.id), ("session", context.text("session")))
    note = Note(f"{said}: “{one.text}” is {one.intent}{instead}{secret}.", UNDO, fields)
    return _told(context, note)


async def unlearn(context: RequestContext) -> Response:
    """Take back what was learned: the file is what it was before."""
    name = context.text("id")
    undone = await _learned(context, lambda: Learning(context.served.workspace).undo(name))
    return _told(context, Note(f"Taken back: {undone.told}."))


def _told(context: RequestContext, note: Note) -> Response:
    if context.partial:
        return context.part("note.html", note=note)
    back = context.text("from")
    return context.go(path_of(back) if back else address(context.text("session") or None), note)


async def _learned(context: RequestContext, change: Callable[[], _Result]) -> _Result:
    return await asyncio.to_thread(change)


def _resolver(served: ServedWorkspace) -> Resolver:
    return served.conversations.parts.resolver


routes = (get("/chat/mend", mend), post("/chat/learn", learn), post(UNDO, unlearn))


MOST: Final = 60
"""Most readings that are offered; a pasted page has hundreds."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The message in other words: with ``antecedent`` where ``text`` points back."""

    text: str
    antecedent: str
    message: str


def corrections_of(turn: Turn, resolver: Resolver) -> tuple[Correction, ...]:
    """Every word that points back, with every other thing of the conversation in its place.

    Words that were left alone count, too, and "the button" that was resolved to nothing.
    """
    return tuple(islice(_corrections(turn, resolver), MOST))


def _corrections(turn: Turn, resolver: Resolver) -> Iterator[Correction]:
    discourse = remembered(resolver)(turn)
    named = things(discourse)
    scene = Scene(resolver.analyse(turn.message), discourse, resolver.knowledge)
    for (start, end), target in sorted(_open_words(turn, scene).items()):
        text = turn.message[start:end]
        for name in named:
            if thing(name) not in (thing(target), thing(text)):
                written = in_place_of(text, name)
                said = f"{turn.message[:start]}{written}{turn.message[end:]}"
                yield Correction(text, name, said)


def _open_words(turn: Turn, scene: Scene) -> dict[tuple[int, int], str]:
    """Where the message points back, and the antecedent that was taken; "" without one."""
    spans = dict.fromkeys(described(scene), "")
    for word in turn.unresolved:
        if found := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", turn.message):
            spans.setdefault(found.span(), "")
    spans |= {(one.start, one.end): one.target for one in turn.references if one.text}
    return {
        (start, end): target
        for (start, end), target in spans.items()
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in spans)
    }
