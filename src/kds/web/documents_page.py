"""The page of documents: add, list, search and ask on, and open the place that is cited."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from starlette.background import BackgroundTask
from starlette.responses import Response

from kds.brain.documents.store import Documents
from kds.brain.documents.values import Document, Section
from kds.brain.errors import KdsError, MessageError, UnknownNameError
from kds.documents.indexing import Report, State
from kds.documents.uploads import ReadingJob, drop_upload
from kds.query.values import Query
from kds.service.routes.query import answered
from kds.transit.history import Message
from kds.web.auth import Note
from kds.web.request_context import RequestContext, get, post

ASKED: Final = 6
"""Questions that a follow-up is read after: more than the router's context needs."""

READ: Final[Mapping[State, str]] = {
    "added": "Read", "replaced": "Read anew", "unchanged": "There already, and unchanged",
}  # fmt: skip

AT_ONCE_S: Final = 1.0
"""How long a page waits for files that are quickly read."""

LONGEST: Final = 20_000
"""Characters of a section that are shown at once."""

QUOTED: Final = 160
"""Characters by which a passage is found again in its document."""


async def show(context: RequestContext) -> Response:
    """The documents; with ``q``, what they say about that, in the light of what was asked before:
    the page sends that along."""
    question, reply = context.text("q").strip(), None
    before = context.request.query_params.getlist("before")[-ASKED:]
    if question:
        said = tuple(Message("user", text) for text in before)
        query = Query(question, context=said, scope="documents")
        reply = await answered(context.served, query)
    jobs = context.request.app.state.jobs[context.served.root]
    ended = [one for one in jobs if not one.running]
    found = await context.archive(lambda: _documents(context))
    asked = [*before, question][-ASKED:] if question else ()
    return context.page(
        "documents.html", title="Documents", documents=found, reply=reply, asked=asked,
        jobs=_running(context), document_link=document_link,
        told=[note for one in ended for note in _told(one.report, one.error)],
    )  # fmt: skip


async def add(context: RequestContext) -> Response:
    """Keep the files that were sent, and read them; other pages answer meanwhile, and the service
    does not end."""
    uploads = [one for one in context.form.getlist("file") if not isinstance(one, str)]
    files = [(name, await one.read()) for one in uploads if (name := one.filename)]
    if not files:
        raise MessageError("no file was chosen", where="file", hint="choose one")
    workspace, visitor, over = context.served.workspace, context.visitor, asyncio.Event()

    def ended(job: ReadingJob) -> None:
        visitor.notes.extend(_told(job.report, job.error))
        over.set()

    job = ReadingJob(workspace, files, ended)
    context.request.app.state.jobs[context.served.root] = [*_running(context), job]
    await asyncio.to_thread(job.wait, AT_ONCE_S)
    response = context.go("/documents")
    response.background = BackgroundTask(over.wait)
    return response


def _documents(context: RequestContext) -> Sequence[Document]:
    store = context.served.queries.library.store
    return store.documents() if store else ()


def _running(context: RequestContext) -> list[ReadingJob]:
    """What reads files of this workspace."""
    return [one for one in context.request.app.state.jobs[context.served.root] if one.running]


async def reading(context: RequestContext) -> Response:
    """How far the files are that are being read, at last what became of them; what is typed on the
    page stays."""
    if jobs := _running(context):
        return context.part("reading.html", jobs=jobs)
    found = await context.archive(lambda: _documents(context))
    return context.part("read.html", documents=found, notes=context.take_notes(), anew=True)


async def stop(context: RequestContext) -> Response:
    """Read no further; the files that were read are kept."""
    for job in _running(context):
        job.stop()
        await asyncio.to_thread(job.wait, AT_ONCE_S)
    return context.go("/documents")


def _told(report: Report, error: KdsError | None = None) -> Iterator[Note]:
    """What became of the files."""
    if error is not None:
        yield Note("", error=error)
        return
    for state, said in READ.items():
        if names := ", ".join(one.path.name for one in report.of(state)):
            yield Note(f"{said}: {names}")
    yield from (Note("", error=one.error) for one in report.of("failed") if one.error)
    if not report.outcomes:
        yield Note("There was nothing to read.")


async def remove(context: RequestContext) -> Response:
    """Take a document out of the store, and the copy that was sent out of its folder."""
    name = context.text("document")

    def erase() -> Document:
        store = _store(context)
        document = store.document(name)
        store.remove([document.id])
        drop_upload(context.served.workspace, Path(document.path))
        return document

    gone = await context.archive(erase)
    return context.go("/documents", f"“{gone.title}” is taken out.")


async def open_(context: RequestContext) -> Response:
    """A document's outline, and the section that a citation names by its line or number."""
    name, line = context.text("path") or context.text("document"), context.number("line", 0)
    number = context.number("section", -1) if context.text("section") else None

    page, quote = context.number("page", 0), context.text("quote")

    def read() -> tuple[Document, tuple[Section, ...], tuple[int, int, int] | None]:
        store = _store(context)
        document = store.document(name)
        where = {"page": page or None, "line": line or None}
        place = store.find_quote(document.id, quote, **where) if quote else None
        return document, store.sections(document.id), place

    document, sections, place = await context.archive(read)
    number, *cited = place or (number, 0, 0)
    chosen = _chosen(sections, number, line, page)
    return context.page(
        "document.html", title=document.title, document=document, sections=sections,
        chosen=chosen, parts=_parts(chosen.text, *cited) if chosen else None,
        page=page if place else 0, quote=quote,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parts:
    """A section as it is shown: the passage that is cited, what stands around it, and whether there
    is more at either end."""

    before: str
    cited: str
    after: str
    cut: tuple[bool, bool]


def _parts(text: str, start: int, length: int) -> Parts:
    """The part of a long section in which a passage stands, with the passage apart."""
    begin = max(start - LONGEST // 2, 0) if len(text) > LONGEST else 0
    end = min(begin + LONGEST, len(text))
    to = min(start + length, end)
    return Parts(text[begin:start], text[start:to], text[to:end], (begin > 0, end < len(text)))


def document_link(text: str, path: str, line: int | None, page: int | None) -> str:
    """Where the page opens the document at ``path``: at a passage with this text."""
    where = {"path": path, "line": line, "page": page, "quote": text[:QUOTED]}
    return f"/documents/open?{urlencode({name: one for name, one in where.items() if one})}#cited"


def _chosen(
    sections: Sequence[Section], number: int | None, line: int, page: int
) -> Section | None:
    """The section with a number, else the one that holds a line or page, else the first with a
    text."""
    if number is not None:
        return next((one for one in sections if one.index == number), None)
    begun = [
        one for one in sections
        if 0 < (one.first_line or 0) <= line or 0 < (one.page or 0) <= page
    ]  # fmt: skip
    texts = (one for one in sections if one.text.strip())
    return begun[-1] if begun else next(texts, None)


def _store(context: RequestContext) -> Documents:
    store = context.served.queries.library.store
    if store is None:
        raise UnknownNameError("no document was ever added", hint="add one on this page")
    return store


routes = (
    get("/documents", show),
    post("/documents/add", add),
    get("/documents/reading", reading),
    post("/documents/stop", stop),
    post("/documents/remove", remove),
    get("/documents/open", open_),
)
