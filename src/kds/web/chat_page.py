"""The chat: what was said, what KDS made of it, the answer as it comes, and whole sessions."""

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from kds.activation.discovery import Entry, instructions
from kds.activation.uses import Uses
from kds.agents.agent import Agent
from kds.brain.errors import DispatchError, KdsError, MessageError, StoreError
from kds.brain.memory.export import archive, from_json, to_json, to_markdown
from kds.brain.memory.memory_store import Archive
from kds.brain.memory.sessions import Session
from kds.brain.passages.details import decode
from kds.brain.turn import UNKNOWN, Turn
from kds.learning.teaching import Learning, teach
from kds.service.errors import NotServedError, TooLargeError
from kds.service.requests import MESSAGE_LIMIT
from kds.service.routes.hook import fitting
from kds.session.exchange import Exchange
from kds.web.auth import Note
from kds.web.chat_view import Shown, choices_of, earlier_page, newest_page, sidebar, unkept
from kds.web.rendering import as_html
from kds.web.request_context import RequestContext, download, get, path_of, post
from kds.web.talks import Talk, Talks, Telling

PATIENCE_S: Final = 3600.0
"""How long a browser without JavaScript waits for an answer; a model has its own, shorter limit."""

UNDO: Final = "/chat/unlearn"
UNDO_S: Final = 600.0
"""Seconds for which an erased session can be brought back. It is in memory alone, so it is gone
with the service, too."""
MOST_ERASED: Final = 8

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9]+")
_ARGUMENTS: Final = re.compile(
    r"\$ARGUMENTS\b|\{\{\s*(?:args|message|expanded)\s*\}\}|\$\{input(?::[^}]*)?\}"
)
"""Where clients put what was typed into a prompt file."""


def address(session: str | None) -> str:
    """Where a session is shown; None: a new one."""
    return "/chat" if session is None else f"/chat?session={quote(session, safe='')}"


def _talks(context: RequestContext) -> Talks:
    found: Talks = context.request.app.state.talks
    return found


async def show(context: RequestContext) -> Response:
    """A session with its newest messages, or those before one of them; without a name a new one."""
    chosen, before = context.text("session") or None, context.number("before", 0)
    session, shown = None, Shown()
    if chosen is not None:
        session, shown = await _page(context, await _talk(context, chosen), chosen, before)
    else:  # has the library of skills read
        await fitting(context.served, "", (), None, client=None, by_user=True)
    if context.partial and before:
        return await _part(context, "earlier.html", session, shown)
    model = context.served.memory.config.settings.model
    values = _values(session, shown) | {
        "beside": await sidebar(context, chosen),
        "has_model": bool(model.name or model.base_url),
        "remembers": context.served.memory.flags.enabled,
        "typed": context.take_refused("/chat/send").get("message", ""),
    }
    title = session.title if session and session.title else "New chat"
    return await asyncio.to_thread(lambda: context.page("chat.html", title=title, **values))


async def send(context: RequestContext) -> Response:
    """Take a message: it is routed and logged before this answers, and answered after it."""
    message = context.text("message").replace("\r\n", "\n").strip()
    if not message:
        raise MessageError("the message is empty", hint="write what you want")
    if len(message) > MESSAGE_LIMIT:
        raise TooLargeError(
            f"the message has {len(message):,} characters, more than {MESSAGE_LIMIT:,}",
            hint="send the request without the files it is about",
        )
    chosen, served = _chosen(context), context.served
    begun = chosen is None and bool(served.memory.flags.enabled)
    if begun:
        made = await context.archive(lambda: served.memory_for_writing().create_session())
        chosen = made.id
    talk = await _talk(context, chosen)
    exchange = await asyncio.to_thread(lambda: talk.session.begin(message, alone=True))
    telling = talk.begin(exchange)
    with suppress(KdsError):  # nothing is offered
        history = exchange.plan.turn.history
        talk.fits = await fitting(served, message, history, chosen, client=None, by_user=True)
    return await _answered(context, talk, telling, chosen, said=exchange.plan.said, begun=begun)


def _begins(begin: Callable[[RequestContext, Talk], Exchange]) -> Callable[..., Any]:
    """A view that has the last message answered anew."""

    async def view(context: RequestContext) -> Response:
        chosen = _chosen(context)
        talk = await _talk(context, chosen)
        exchange = await asyncio.to_thread(begin, context, talk)
        fits, ran = talk.fits, talk.ran
        telling = talk.begin(exchange)
        if begin is not _hand_over:
            talk.fits, talk.ran = (None if begin is _run else fits), ran
        return await _answered(context, talk, telling, chosen)

    return view


def _hand_over(context: RequestContext, talk: Talk) -> Exchange:
    """Let the agent that was offered go on with the work."""
    return talk.session.begin_hand_over(context.text("intent"))


def _again(_: RequestContext, talk: Talk) -> Exchange:
    """Have the last message answered once more, by the one who did."""
    if talk.ran is not None and talk.latest is not None:
        return talk.session.begin_run(talk.latest, *talk.ran)
    return talk.session.begin_again()


def _run(context: RequestContext, talk: Talk) -> Exchange:
    """Have the last message answered by the skill, agent or prompt file that fits it."""
    entry, turn = talk.fits, talk.latest
    if entry is None or turn is None or entry.name != context.text("entry"):
        raise NotServedError("nothing that fits is known of this message", hint="say it again")
    served = context.served
    agent, prompt = _follows(entry, turn, talk, served.root)
    if served.memory.config.settings.activation.learn:
        with suppress(KdsError):
            Uses(served.workspace).add(turn.message, entry.name, "used")
    exchange = talk.session.begin_run(turn, agent, prompt)
    talk.ran = agent, prompt
    return exchange


def _follows(entry: Entry, turn: Turn, talk: Talk, root: str) -> tuple[Agent, str]:
    """Who answers by an entry, and its text with what was typed in its place."""
    library = talk.session.records.library
    if entry.client == "kds":
        with suppress(DispatchError):  # else a file that is not a prompt of KDS
            agent = Agent.named(entry.name, library, workspace=root)
            return agent, agent.render(turn)
    agent = Agent.named(UNKNOWN, library, workspace=root)
    try:
        text = instructions(entry)
    except (OSError, ValueError) as error:
        raise NotServedError(f"cannot be read: {error}", where=str(entry.path)) from error
    named = {"name": entry.name, "ref": str(entry.path), "tools": ()}
    own = agent.prompt.model_copy(update=named)
    return replace(agent, prompt=own), _ARGUMENTS.sub(lambda _: turn.message, text)


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
    """What was said after a message, in this tab or another one; with ``cut``, how an answer stands
    whose events have ended too early."""
    chosen = _chosen(context)
    talk = await _talk(context, chosen)
    if chosen is not None and not context.text("cut"):
        session = await context.archive(lambda: context.served.store_of(chosen).session(chosen))
        if session.message_count <= context.number("after", 0):
            return Response(status_code=204)
    return await _part(context, "lines.html", *await _lines(context, talk, chosen))


async def answer(context: RequestContext) -> Response:
    """The answer that is on its way, as events: `text` again and again, at last `done`."""
    found = _talks(context).told(context.text("telling"))
    if found is None:
        return Response(status_code=204)  # the page asks what has become of it then
    return StreamingResponse(_events(context, *found), media_type="text/event-stream")


async def _events(context: RequestContext, talk: Talk, telling: Telling) -> AsyncIterator[str]:
    async for event in telling.pieces(lambda said: _event("text", as_html(said))):
        yield event
    with suppress(KdsError):  # the session was erased meanwhile
        values = _values(*await _lines(context, talk, _chosen(context)))
        shown = await asyncio.to_thread(lambda: context.rendered("lines.html", **values))
        yield _event("done", shown)


def _event(name: str, text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = "".join(f"data: {line}\n" for line in lines)
    return f"event: {name}\n{data}\n"


async def _answered(
    context: RequestContext, talk: Talk, telling: Telling, chosen: str | None, *,
    said: str = "", begun: bool = False,
) -> Response:  # fmt: skip
    await telling.wait(talk.at_once_s if context.partial else PATIENCE_S)
    if begun or not context.partial:
        return context.go(address(chosen))
    return await _part(context, "lines.html", *await _lines(context, talk, chosen, said))


async def _lines(
    context: RequestContext, talk: Talk, chosen: str | None, said: str = ""
) -> tuple[Session | None, Shown]:
    """What was said after what a tab has shown; ``said``: where nothing is kept, the message."""
    if chosen is None:
        return None, await asyncio.to_thread(unkept, talk, said)
    return await _page(context, talk, chosen)


def _chosen(context: RequestContext) -> str | None:
    """The session that a form is of; None: that of the workspace, as always with the memory off."""
    return (context.text("session") or None) if context.served.memory.flags.enabled else None


async def _talk(context: RequestContext, chosen: str | None) -> Talk:
    """A conversation that there is, or that of the workspace: an erased one does not begin anew,
    with what is said in another tab. Raises NotServedError."""
    if chosen is not None:
        await context.archive(lambda: context.served.store_of(chosen))
    return await _talks(context).find(context.served, chosen)


async def _page(
    context: RequestContext, talk: Talk, chosen: str, before: int = 0
) -> tuple[Session, Shown]:
    """A session, and what was said in it: before a message, or after what a tab has shown."""
    after = context.number("after", 0)

    def read() -> tuple[Session, Shown]:
        store = context.served.store_of(chosen)
        session = store.session(chosen)
        if before:
            return session, earlier_page(store, talk, session, before)
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


async def rename(context: RequestContext) -> Response:
    """Give a session a title that stays."""
    session, title = context.text("session"), context.text("title")
    await context.archive(
        lambda: context.served.store_of(session, writes=True).rename(session, title)
    )
    return context.go(address(session))


async def delete(context: RequestContext) -> Response:
    """Erase a session and its bytes; for a while it can be brought back."""
    session = context.text("session")

    def erase() -> Archive:
        store = context.served.store_of(session)
        found = archive(store, session)
        store.delete_session(session)
        return found

    await _talks(context).close(context.served, session)
    erased = await context.archive(erase)
    name, kept = uuid.uuid4().hex, context.visitor.erased
    kept[name] = time.monotonic() + UNDO_S, erased
    for old in [*kept][:-MOST_ERASED]:
        del kept[old]
    said = f"The session “{erased.session.title or 'without a title'}” is erased."
    return context.go("/chat", Note(said, "/chat/bring-back", (("erased", name),)))


async def bring_back(context: RequestContext) -> Response:
    """Store an erased session as it was."""
    until, erased = context.visitor.erased.pop(context.text("erased"), (0.0, None))
    if erased is None or time.monotonic() > until:
        raise NotServedError(
            "the session cannot be brought back any more",
            hint="it is kept for ten minutes; a file that it was exported to can be imported",
        )
    back = await context.archive(lambda: context.served.memory_for_writing().restore(erased))
    return context.go(address(back.id), "The session is back.")


async def export(context: RequestContext) -> Response:
    """Write a session out as a file."""
    session = context.text("session")
    found = await context.archive(lambda: archive(context.served.store_of(session), session))
    name = _NO_NAME.sub("-", found.session.title).strip("-").lower()[:60] or "session"
    if context.text("format") == "markdown":
        return download(to_markdown(found), f"{name}.md", "text/markdown")
    return download(to_json([found]), f"{name}.json", "application/json")


async def import_(context: RequestContext) -> Response:
    """Store the sessions of a file that was exported."""
    upload = context.upload("file")
    if upload is None:
        raise MessageError("no file was chosen", where="file", hint="choose one, then import")
    text = await upload.read()

    def restore() -> list[Session]:
        try:
            archives = from_json(text, where=upload.filename or "the file")
        except StoreError as error:  # the sender can fix the file
            raise MessageError(error.message, where=error.where, hint=error.hint) from error
        store = context.served.memory_for_writing()
        return [store.restore(one) for one in archives]

    restored = await context.archive(restore)
    note = f"Sessions imported: {len(restored)}."
    return context.go(address(restored[0].id if restored else None), note)


async def mend(context: RequestContext) -> Response:
    """What may have been meant by a message: every intent."""
    chosen, seq = context.text("session"), context.number("seq", 0)

    def read() -> tuple[Session, str, str]:
        store = context.served.store_of(chosen)
        found = store.messages(chosen, last=1, before_seq=seq + 1, details=True)
        details = decode(found[0].details, found[0].content) if found else None
        if details is None:
            raise NotServedError("nothing is known of this message", hint="say it again")
        return store.session(chosen), details.turn.message, details.turn.intent

    session, message, intent = await context.archive(read)
    intents = choices_of(context.served.conversations.library)
    values = {"session": session, "message": message, "intent": intent, "intents": intents}
    if context.partial:
        return context.part("mend.html", **values)
    return context.page("mend_page.html", title="What was meant", **values)


def _undone(context: RequestContext, note: str, name: str) -> Note:
    return Note(note, UNDO, (("id", name), ("session", context.text("session"))))


async def learn(context: RequestContext) -> Response:
    """Let a message be an example of an intent from now on, whatever was taught before."""
    message, intent = context.text("message"), context.text("intent")
    teaches = partial(teach, context.served.workspace, message, intent, force=True)
    taught = await asyncio.to_thread(teaches)
    one, said = taught.learned, "Learned" if taught.new else "Learned before"
    instead = f", no longer {taught.instead_of}" if taught.instead_of else ""
    secret = "; the secret in it is not kept" if taught.redacted else ""
    note = f"{said}: {one.told}{instead}{secret}."
    return _told(context, _undone(context, note, one.id))


async def unlearn(context: RequestContext) -> Response:
    """Take back what was learned: the file is what it was before."""
    undo = partial(Learning(context.served.workspace).undo, context.text("id"))
    undone = await asyncio.to_thread(undo)
    return _told(context, Note(f"Taken back: {undone.told}."))


def _told(context: RequestContext, note: Note) -> Response:
    if context.partial:
        return context.part("note.html", note=note)
    back = context.text("from")
    return context.go(path_of(back) if back else address(context.text("session") or None), note)


routes = (
    get("/chat", show),
    post("/chat/send", send),
    post("/chat/hand-over", _begins(_hand_over)),
    post("/chat/again", _begins(_again)),
    post("/chat/run", _begins(_run)),
    post("/chat/stop", stop),
    get("/chat/sessions", sessions),
    get("/chat/since", since),
    get("/chat/answer", answer),
    post("/chat/rename", rename),
    post("/chat/delete", delete),
    post("/chat/bring-back", bring_back),
    get("/chat/export", export),
    post("/chat/import", import_),
    get("/chat/mend", mend),
    post("/chat/learn", learn),
    post(UNDO, unlearn),
)
