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
from kds.web.request_context import RequestContext, get, post
from kds.web.session_changes import address, talks_of
from kds.web.talks import Talk, Telling

PATIENCE_S: Final = 3600.0
"""How long a browser without JavaScript waits for an answer; a model has its own, shorter limit."""


async def show(context: RequestContext) -> Response:
    """A session with its newest messages, or those before one of them; without a name a new one."""
    chosen = context.text("session") or None
    before = context.number("before", 0)
    session, shown = None, Shown()
    if chosen is not None:
        talk, session = await _opened(context, chosen)
        shown = await _page(context, talk, session, before)
    if context.partial and before:
        return await _part(context, "earlier.html", session, shown)
    beside = await sidebar(context, chosen)
    title = session.title if session and session.title else "New chat"
    model = context.served.memory.config.settings.model
    values = _values(session, shown) | {
        "beside": beside,
        "has_model": bool(model.name or model.base_url),
        "remembers": context.served.memory.flags.enabled,
    }
    return await asyncio.to_thread(lambda: context.page("chat.html", title=title, **values))


async def send(context: RequestContext) -> Response:
    """Take a message: it is routed and logged before this answers, and answered after it."""
    message = _message(context)
    chosen, begun = _chosen(context), False
    if chosen is None and context.served.memory.flags.enabled:
        session = await context.archive(
            lambda: context.served.memory_for_writing().create_session()
        )
        chosen, begun = session.id, True
    talk = await _talk(context, chosen)
    exchange = await asyncio.to_thread(lambda: talk.session.begin(message))
    return await _answered(context, talk, exchange, chosen, begun=begun)


async def mean(context: RequestContext) -> Response:
    """Say the message anew with what was meant, and learn that."""
    context.visitor.notes.append(await taught_turns.point(context))
    return await send(context)


async def hand_over(context: RequestContext) -> Response:
    """Let the agent that was offered go on with the work."""
    chosen, intent = _chosen(context), context.text("intent")
    talk = await _talk(context, chosen)
    exchange = await asyncio.to_thread(lambda: talk.session.begin_hand_over(intent))
    return await _answered(context, talk, exchange, chosen)


async def again(context: RequestContext) -> Response:
    """Have the last message answered once more."""
    chosen = _chosen(context)
    talk = await _talk(context, chosen)
    exchange = await asyncio.to_thread(talk.session.begin_again)
    return await _answered(context, talk, exchange, chosen)


async def sessions(context: RequestContext) -> Response:
    """The list of sessions as it is now, if it has changed."""
    beside = await sidebar(context, context.text("session") or None)
    if beside.mark == context.text("mark"):
        return Response(status_code=204)
    return context.part("sessions.html", beside=beside)


async def stop(context: RequestContext) -> Response:
    """Halt the answer that is on its way; what was said of it is kept."""
    chosen = _chosen(context)
    talk = await _talk(context, chosen)
    await asyncio.to_thread(talk.session.halt)
    return Response(status_code=204) if context.partial else context.go(address(chosen))


async def since(context: RequestContext) -> Response:
    """What was said after a message, in this tab or another one."""
    talk, session = await _opened(context, context.text("session"))
    if session.message_count <= context.number("after", 0):
        return Response(status_code=204)
    session, shown = await _newest(context, talk, session.id)
    return await _part(context, "lines.html", session, shown)


async def answer(context: RequestContext) -> Response:
    """The answer that is on its way, as events: `text` again and again, at last `done`."""
    found = talks_of(context).told(context.text("telling"))
    if found is None:
        return Response(status_code=204)  # the browser does not come again then
    events = _events(context, *found)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(context: RequestContext, talk: Talk, telling: Telling) -> AsyncIterator[str]:
    async for event in telling.pieces(lambda said: _event("text", telling.growing.as_html(said))):
        yield event
    session, chosen = None, _chosen(context)
    if chosen is None:
        shown = await asyncio.to_thread(unkept, talk)
    else:
        session, shown = await _newest(context, talk, chosen)
    values = _values(session, shown)
    yield _event("done", await asyncio.to_thread(lambda: context.rendered("lines.html", **values)))


async def _answered(
    context: RequestContext,
    talk: Talk,
    exchange: Exchange,
    chosen: str | None,
    *,
    begun: bool = False,
) -> Response:
    telling = talk.begin(exchange)
    await telling.wait(talk.at_once_s if context.partial else PATIENCE_S)
    if begun or not context.partial:
        return context.go(address(chosen))
    if chosen is None:
        shown = await asyncio.to_thread(unkept, talk, exchange.said)
        return await _part(context, "lines.html", None, shown)
    session, shown = await _newest(context, talk, chosen)
    return await _part(context, "lines.html", session, shown)


def _chosen(context: RequestContext) -> str | None:
    """The session that a form is of; None: that of the workspace, as always with the memory off."""
    return (context.text("session") or None) if context.served.memory.flags.enabled else None


async def _opened(context: RequestContext, chosen: str) -> tuple[Talk, Session]:
    """A conversation that there is. Raises NotServedError."""
    session = await context.archive(lambda: context.served.store_of(chosen).session(chosen))
    return await talks_of(context).find(context.served, chosen), session


async def _talk(context: RequestContext, chosen: str | None) -> Talk:
    """A conversation that there is, or that of the workspace: an erased one does not begin anew,
    with what is said in another tab. Raises NotServedError."""
    if chosen is not None:
        return (await _opened(context, chosen))[0]
    return await talks_of(context).find(context.served, None)


async def _page(context: RequestContext, talk: Talk, session: Session, before: int) -> Shown:
    def read() -> Shown:
        store = context.served.store_of(session.id)
        if before:
            return earlier_page(store, talk, session, before)
        return newest_page(store, talk, session)

    return await context.archive(read)


async def _newest(context: RequestContext, talk: Talk, chosen: str) -> tuple[Session, Shown]:
    """A session, and what was said in it after what a tab has shown. Raises NotServedError."""
    after = context.number("after", 0)

    def read() -> tuple[Session, Shown]:
        store = context.served.store_of(chosen)
        session = store.session(chosen)
        return session, newest_page(store, talk, session, after)

    return await context.archive(read)


async def _part(
    context: RequestContext, template: str, session: Session | None, shown: Shown
) -> Response:
    """A part of a page. Markdown takes its time, which hooks that ask meanwhile have not."""
    values = _values(session, shown) | {"notes": context.take_notes()}
    return await asyncio.to_thread(lambda: context.part(template, **values))


def _values(session: Session | None, shown: Shown) -> dict[str, Any]:
    """What the templates of a conversation need."""
    return {"session": session, "shown": shown, "html": as_html, "notes": ()}


def _message(context: RequestContext) -> str:
    """The message of the form. Raises MessageError, and TooLargeError."""
    message = context.text("message").replace("\r\n", "\n").strip()
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
    post("/chat/again", again),
    post("/chat/stop", stop),
    get("/chat/sessions", sessions),
    get("/chat/since", since),
    get("/chat/answer", answer),
    *session_changes.routes,
    *taught_turns.routes,
)
