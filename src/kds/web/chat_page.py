"""The chat: what was said, what KDS made of it, and the answer as it comes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from kds.brain.errors import MessageError
from kds.brain.memory.records import Session
from kds.service.errors import TooLargeError
from kds.service.models import MESSAGE_LIMIT
from kds.session.exchange import Exchange
from kds.web import session_changes, taught_turns
from kds.web.chat_view import Shown, earlier_page, newest_page, sidebar, unkept
from kds.web.markup import as_html
from kds.web.session_changes import address, store_of, talks_of
from kds.web.talks import Talk, Telling
from kds.web.visit import Visit, get, post

PATIENCE_S: Final = 3600.0
"""How long a browser without JavaScript waits for an answer; a model has its own, shorter limit."""


async def show(visit: Visit) -> Response:
    """A session with its newest messages, or those before one of them; without a name a new one."""
    chosen = visit.text("session") or None
    before = visit.number("before", 0)
    session, shown = None, Shown()
    if chosen is not None:
        talk, session = await _opened(visit, chosen)
        shown = await _page(visit, talk, session, before)
    if visit.partial and before:
        return await _part(visit, "earlier.html", session, shown)
    beside = await sidebar(visit, chosen)
    title = session.title if session and session.title else "New chat"
    model = visit.served.memory.config.settings.model
    values = _values(session, shown) | {
        "beside": beside,
        "has_model": bool(model.name or model.base_url),
        "remembers": visit.served.memory.flags.enabled,
    }
    return await asyncio.to_thread(lambda: visit.page("chat.html", title=title, **values))


async def send(visit: Visit) -> Response:
    """Take a message: it is routed and logged before this answers, and answered after it."""
    message = _message(visit)
    chosen, begun = _chosen(visit), False
    if chosen is None and visit.served.memory.flags.enabled:
        session = await visit.archive(lambda: visit.served.memory_for_writing().create_session())
        chosen, begun = session.id, True
    talk = await _talk(visit, chosen)
    exchange = await asyncio.to_thread(lambda: talk.session.begin(message))
    return await _answered(visit, talk, exchange, chosen, begun=begun)


async def mean(visit: Visit) -> Response:
    """Say the message anew with what was meant, and learn that."""
    visit.visitor.notes.append(await taught_turns.point(visit))
    return await send(visit)


async def hand_over(visit: Visit) -> Response:
    """Let the agent that was offered go on with the work."""
    chosen, intent = _chosen(visit), visit.text("intent")
    talk = await _talk(visit, chosen)
    exchange = await asyncio.to_thread(lambda: talk.session.begin_hand_over(intent))
    return await _answered(visit, talk, exchange, chosen)


async def stop(visit: Visit) -> Response:
    """Halt the answer that is on its way; what was said of it is kept."""
    chosen = _chosen(visit)
    talk = await _talk(visit, chosen)
    await asyncio.to_thread(talk.session.halt)
    return Response(status_code=204) if visit.partial else visit.go(address(chosen))


async def since(visit: Visit) -> Response:
    """What was said after a message, in this tab or another one."""
    talk, session = await _opened(visit, visit.text("session"))
    if session.message_count <= visit.number("after", 0):
        return Response(status_code=204)
    session, shown = await _newest(visit, talk, session.id)
    return await _part(visit, "lines.html", session, shown)


async def answer(visit: Visit) -> Response:
    """The answer that is on its way, as events: `text` again and again, at last `done`."""
    found = talks_of(visit).told(visit.text("telling"))
    if found is None:
        return Response(status_code=204)  # the browser does not come again then
    events = _events(visit, *found)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(visit: Visit, talk: Talk, telling: Telling) -> AsyncIterator[str]:
    async for event in telling.pieces(lambda said: _event("text", telling.growing.as_html(said))):
        yield event
    session, chosen = None, _chosen(visit)
    if chosen is None:
        shown = await asyncio.to_thread(unkept, talk)
    else:
        session, shown = await _newest(visit, talk, chosen)
    values = _values(session, shown)
    yield _event("done", await asyncio.to_thread(lambda: visit.rendered("lines.html", **values)))


async def _answered(
    visit: Visit, talk: Talk, exchange: Exchange, chosen: str | None, *, begun: bool = False
) -> Response:
    telling = talk.begin(exchange)
    await telling.wait(talk.at_once_s if visit.partial else PATIENCE_S)
    if begun or not visit.partial:
        return visit.go(address(chosen))
    if chosen is None:
        shown = await asyncio.to_thread(unkept, talk, exchange.said)
        return await _part(visit, "lines.html", None, shown)
    session, shown = await _newest(visit, talk, chosen)
    return await _part(visit, "lines.html", session, shown)


def _chosen(visit: Visit) -> str | None:
    """The session that a form is of; None: that of the workspace, as always with the memory off."""
    return (visit.text("session") or None) if visit.served.memory.flags.enabled else None


async def _opened(visit: Visit, chosen: str) -> tuple[Talk, Session]:
    """A conversation that there is. Raises NotServedError."""
    session = await visit.archive(lambda: store_of(visit.served, chosen).session(chosen))
    return await talks_of(visit).find(visit.served, chosen), session


async def _talk(visit: Visit, chosen: str | None) -> Talk:
    """A conversation that there is, or that of the workspace: an erased one does not begin anew,
    with what is said in another tab. Raises NotServedError."""
    if chosen is not None:
        return (await _opened(visit, chosen))[0]
    return await talks_of(visit).find(visit.served, None)


async def _page(visit: Visit, talk: Talk, session: Session, before: int) -> Shown:
    def read() -> Shown:
        store = store_of(visit.served, session.id)
        if before:
            return earlier_page(store, talk, session, before)
        return newest_page(store, talk, session)

    return await visit.archive(read)


async def _newest(visit: Visit, talk: Talk, chosen: str) -> tuple[Session, Shown]:
    """A session, and what was said in it after what a tab has shown. Raises NotServedError."""
    after = visit.number("after", 0)

    def read() -> tuple[Session, Shown]:
        store = store_of(visit.served, chosen)
        session = store.session(chosen)
        return session, newest_page(store, talk, session, after)

    return await visit.archive(read)


async def _part(visit: Visit, template: str, session: Session | None, shown: Shown) -> Response:
    """A part of a page. Markdown takes its time, which hooks that ask meanwhile have not."""
    values = _values(session, shown) | {"notes": visit.take_notes()}
    return await asyncio.to_thread(lambda: visit.part(template, **values))


def _values(session: Session | None, shown: Shown) -> dict[str, Any]:
    """What the templates of a conversation need."""
    return {"session": session, "shown": shown, "html": as_html, "notes": ()}


def _message(visit: Visit) -> str:
    """The message of the form. Raises MessageError, and TooLargeError."""
    message = visit.text("message").replace("\r\n", "\n").strip()
    if not message:
        raise MessageError("the message is empty", hint="write what you want")
    if len(message) > MESSAGE_LIMIT:
        raise TooLargeError(
            f"the message has {len(message):,} characters, more than {MESSAGE_LIMIT:,}",
            hint="send the request without the files it is about",
        )
    return message


def _event(name: str, text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = "".join(f"data: {line}\n" for line in lines)
    return f"event: {name}\n{data}\n"


routes = (
    get("/chat", show),
    post("/chat/send", send),
    post("/chat/mean", mean),
    post("/chat/hand-over", hand_over),
    post("/chat/stop", stop),
    get("/chat/since", since),
    get("/chat/answer", answer),
    *session_changes.routes,
    *taught_turns.routes,
)
