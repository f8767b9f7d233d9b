"""The page of documents: add, list, search and ask on, and open the place that is cited."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import UPLOADS, Document, Section
from kds.brain.errors import MessageError, UnknownNameError
from kds.brain.workspace import Workspace
from kds.documents.indexing import Outcome, Report, State, add_documents
from kds.documents.upload import keep_upload
from kds.query.values import Query
from kds.readers.sections import DocumentError
from kds.service.routes.query import answered
from kds.transit.history import Message
from kds.web.auth import Note
from kds.web.request_context import RequestContext, get, post

ASKED: Final = 6
"""Questions that a follow-up is read after: more than the router's context needs."""

READ: Final[tuple[State, ...]] = ("added", "replaced", "unchanged")

LONGEST: Final = 20_000
"""Characters of a section that are shown at once."""

QUOTED: Final = 160
"""Characters by which a passage is found again in its document."""


async def show(context: RequestContext) -> Response:
    """The documents; with ``q``, what they say about that, in the light of what was asked before:
    the page sends that along."""
    question = context.text("q").strip()
    before = context.request.query_params.getlist("before")[-ASKED:]
    reply = None
    if question:
        said = tuple(Message("user", text) for text in before)
        query = Query(question, context=said, scope="documents")
        reply = await answered(context.served, query)
    library = context.served.queries.library
    found = await context.archive(lambda: library.store.documents() if library.store else ())
    return context.page(
        "documents.html", title="Documents", documents=found, reply=reply,
        asked=[*before, question][-ASKED:] if question else (), place=place,
    )  # fmt: skip


async def add(context: RequestContext) -> Response:
    """Keep the files that were sent, and read them."""
    files = await _sent(context)
    path = context.text("path").replace("\0", "").strip()  # no system has it in a path
    if not files and not path:
        raise MessageError("no file was chosen", where="file", hint="choose one, or name a path")
    # Not on the thread that looks after sessions: every page waits for that one.
    report = await asyncio.to_thread(_read, context.served.workspace, files, path)
    names = ", ".join(one.path.name for state in READ for one in report.of(state))
    failed = [Note("", error=one.error) for one in report.of("failed") if one.error]
    context.visitor.notes += failed
    if failed and not names:
        return context.go("/documents")
    return context.go("/documents", f"Read: {names}" if names else "There was nothing to read.")


async def _sent(context: RequestContext) -> list[tuple[str, bytes]]:
    uploads = [one for one in context.form.getlist("file") if not isinstance(one, str)]
    return [(name, await one.read()) for one in uploads if (name := one.filename)]


async def remove(context: RequestContext) -> Response:
    """Take a document out of the store, and the copy that was sent out of its folder."""
    name = context.text("document")

    def erase() -> Document:
        store = _store(context)
        document = store.document(name)
        store.remove([document.id])
        path = Path(document.path)
        if path.parent == context.served.workspace.brain.resolve() / UPLOADS:
            path.unlink(missing_ok=True)
        return document

    gone = await context.archive(erase)
    return context.go("/documents", f"“{gone.title}” is taken out.")


async def open_(context: RequestContext) -> Response:
    """A document's outline, and the section that a citation names by its line or number."""
    name, line = context.text("path") or context.text("document"), context.number("line", 0)
    number = context.number("section", -1) if context.text("section") else None

    def read() -> tuple[Document, tuple[Section, ...]]:
        store = _store(context)
        document = store.document(name)
        return document, store.sections(document.id)

    document, sections = await context.archive(read)
    quote, length = context.text("quote"), context.number("length", 0, most=LONGEST)
    quoting = [one for one in sections if quote and quote in one.text]
    chosen = _chosen(quoting, line, number) or _chosen(sections, line, number)
    return context.page(
        "document.html", title=document.title, document=document, sections=sections,
        chosen=chosen, parts=_parts(chosen.text, quote, length) if chosen else None,
        page=context.number("page", 0), quote=quote,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parts:
    """A section as it is shown: the passage that is cited, and what stands around it."""

    before: str
    cited: str
    after: str
    cut: tuple[bool, bool]
    """Whether there is more at either end."""


def _parts(text: str, quote: str, length: int) -> Parts:
    """The part of a long section in which a passage stands, with the passage apart."""
    at = text.find(quote) if quote else -1
    begin = max(at - LONGEST // 2, 0) if len(text) > LONGEST else 0
    end = min(begin + LONGEST, len(text))
    if at < 0:
        return Parts(text[:end], "", "", (False, end < len(text)))
    to = min(at + max(length, len(quote)), end)
    return Parts(text[begin:at], text[at:to], text[to:end], (begin > 0, end < len(text)))


def place(text: str, path: str, line: int | None, page: int | None) -> str:
    """Where the page opens the document at ``path``: at a passage with this text."""
    where = {
        "path": path, "line": line, "page": page, "quote": text[:QUOTED], "length": len(text),
    }  # fmt: skip
    return f"/documents/open?{urlencode({name: one for name, one in where.items() if one})}#cited"


def _read(workspace: Workspace, files: Sequence[tuple[str, bytes]], path: str) -> Report:
    """Keep the files and read them, and what stands at a path of the workspace, if any."""
    place = DocumentPlace.of(workspace)
    place.prepare()
    kept: list[Path] = []
    refused: list[Outcome] = []
    for name, content in files:
        try:
            kept.append(keep_upload(workspace, name, content))
        except DocumentError as error:
            refused.append(Outcome(error.path, "failed", error=error))
    if path:
        kept.append(workspace.root / _at_home(path))
    with place.open() as store:
        report = add_documents(store, kept)
    for one in report.of("failed"):
        if one.path.parent == workspace.brain.resolve() / UPLOADS:
            one.path.unlink(missing_ok=True)  # a copy of what says nothing is of no use
    return Report((*refused, *report.outcomes))


def _at_home(text: str) -> Path:
    """A path with its ~ written out, where it is the home of anybody."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _chosen(sections: Sequence[Section], line: int, number: int | None) -> Section | None:
    """The section with a number, else the one that holds a line, else the first with a text."""
    if number is not None:
        return next((one for one in sections if one.index == number), None)
    return _at_line(sections, line) or next((one for one in sections if one.text.strip()), None)


def _at_line(sections: Sequence[Section], line: int) -> Section | None:
    begun = [one for one in sections if line and one.first_line and one.first_line <= line]
    return max(begun, key=lambda one: one.first_line or 0, default=None)


def _store(context: RequestContext) -> Documents:
    store = context.served.queries.library.store
    if store is None:
        hint = "add one on the page of documents"
        raise UnknownNameError("no document was ever added", hint=hint)
    return store


routes = (
    get("/documents", show),
    post("/documents/add", add),
    post("/documents/remove", remove),
    get("/documents/open", open_),
)
