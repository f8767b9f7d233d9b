"""What is done with a whole session: renamed, written out, erased and brought back, read in."""

import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.export import archive, from_json, to_json, to_markdown
from kds.brain.memory.records import Archive, Session
from kds.service.errors import NotServedError
from kds.web.auth import Note
from kds.web.request_context import RequestContext, download, get, post
from kds.web.talks import Talks

UNDO_S: Final = 600.0
"""Seconds for which an erased session can be brought back. It is in memory alone, so it is gone
with the service, too."""

MOST_ERASED: Final = 8

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


class Bin:
    """Sessions that were just erased. For one thread, that of the loop."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, str, Archive]] = OrderedDict()

    def put(self, root: str, erased: Archive) -> str:
        """Keep a session for a while; returns the name under which it can be taken out."""
        self._sweep()
        name = uuid.uuid4().hex
        self._kept[name] = (self._clock() + UNDO_S, root, erased)
        while len(self._kept) > MOST_ERASED:
            self._kept.popitem(last=False)
        return name

    def take(self, root: str, name: str) -> Archive:
        """The session of that name. Raises NotServedError when it is gone."""
        self._sweep()
        _, owner, found = self._kept.get(name, (0.0, "", None))
        if found is None or owner != root:
            raise NotServedError(
                "the session cannot be brought back any more",
                hint="it is kept for ten minutes; a file that it was exported to can be imported",
            )
        del self._kept[name]
        return found

    def _sweep(self) -> None:
        for name, (until, _, _) in list(self._kept.items()):
            if self._clock() > until:
                del self._kept[name]


def address(session: str | None) -> str:
    """Where a session is shown; None: a new one."""
    return "/chat" if session is None else f"/chat?session={quote(session, safe='')}"


def talks_of(context: RequestContext) -> Talks:
    """The conversations that run here."""
    found: Talks = context.request.app.state.talks
    return found


async def rename(context: RequestContext) -> Response:
    """Give a session a title that stays."""
    session, title = context.text("session"), context.text("title")
    await context.archive(
        lambda: context.served.store_of(session, writes=True).rename(session, title)
    )
    return context.go(address(session))


async def delete(context: RequestContext) -> Response:
    """Erase a session and its bytes; for a while it can be brought back."""
    session, talks = context.text("session"), talks_of(context)

    def erase() -> Archive:
        found = archive(context.served.store_of(session), session)
        context.served.memory.delete(session)
        return found

    await talks.close(context.served, session)
    erased = await context.archive(erase)
    name = _bin(context).put(context.served.root, erased)
    title = erased.session.title or "without a title"
    said = f"The session “{title}” is erased."
    return context.go("/chat", Note(said, "/chat/bring-back", (("erased", name),)))


async def bring_back(context: RequestContext) -> Response:
    """Store an erased session as it was."""
    erased = _bin(context).take(context.served.root, context.text("erased"))
    back = await context.archive(lambda: context.served.memory_for_writing().restore(erased))
    return context.go(address(back.id), "The session is back.")


async def export(context: RequestContext) -> Response:
    """Write a session out as a file."""
    session, markdown = context.text("session"), context.text("format") == "markdown"
    found = await context.archive(lambda: archive(context.served.store_of(session), session))
    name = _NO_NAME.sub("-", found.session.title).strip("-").lower()[:60] or "session"
    if markdown:
        return download(to_markdown(found), f"{name}.md", "text/markdown")
    return download(to_json([found]), f"{name}.json", "application/json")


async def import_(context: RequestContext) -> Response:
    """Store the sessions of a file that was exported."""
    upload = context.upload("file")
    if upload is None:
        raise MessageError("no file was chosen", where="file", hint="choose one, then import")
    text = (await upload.read()).decode("utf-8", "replace")
    name = upload.filename or "the file"

    def restore() -> list[Session]:
        archives = _read(text, name)
        store = context.served.memory_for_writing()
        return [store.restore(one) for one in archives]

    restored = await context.archive(restore)
    count = len(restored)
    note = f"{count} {'session' if count == 1 else 'sessions'} imported."
    return context.go(address(restored[0].id if restored else None), note)


def _read(text: str, name: str) -> tuple[Archive, ...]:
    """The sessions of a file. Raises MessageError: the sender can fix the file."""
    try:
        return from_json(text, where=name)
    except StoreError as error:
        raise MessageError(error.message, where=error.where, hint=error.hint) from error


def _bin(context: RequestContext) -> Bin:
    found: Bin = context.request.app.state.bin
    return found


routes = (
    post("/chat/rename", rename),
    post("/chat/delete", delete),
    post("/chat/bring-back", bring_back),
    get("/chat/export", export),
    post("/chat/import", import_),
)
