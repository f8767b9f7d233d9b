"""The documents of a team: added once, for everybody who works in the project of the service.

Everybody finds them beside their own, in `POST /query`, too. The person who added a document may
replace or remove it, and admins may.
"""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from pydantic import Field

from kds.brain.clock import utc_now
from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.documents.store import unknown_document
from kds.brain.documents.values import (
    ALL,
    Content,
    Document,
    DocumentRecall,
    OutlinedDocument,
    Source,
)
from kds.brain.errors import KdsError, MessageError
from kds.brain.store.team import of_everybody
from kds.brain.workspace import shared_database
from kds.readers.reading import read_document, readable_kind
from kds.readers.text import document_errors
from kds.service.errors import ConflictError, ForbiddenError
from kds.service.requests import PATH_LIMIT, MessageText, RequestBody, Served, on_archivist
from kds.service.workspaces import ServedWorkspace

MOST: Final = 100  # passages of one search

T = TypeVar("T")


class SearchRequest(RequestBody):
    """What to look for in the documents."""

    query: MessageText
    limit: int = Field(5, ge=1, le=MOST)
    scope: str = Field(ALL, max_length=PATH_LIMIT)
    """"all", or the only document to look at."""


router = APIRouter(prefix="/documents", tags=["documents"])


@router.get("")
@on_archivist
def documents(served: Served) -> tuple[Document, ...]:
    """List the documents, by path."""
    store = served.queries.library.store
    return store.documents() if store else ()


@router.post("/search")
@on_archivist
def search(served: Served, asked: SearchRequest) -> DocumentRecall:
    """Find the passages that answer a question."""
    found = served.queries.library.search(
        asked.query, limit=asked.limit, embedder=served.queries.embedder.ready,
        only=None if asked.scope == ALL else asked.scope,
    )  # fmt: skip
    return found or DocumentRecall(asked.query, (), (), (), {})


@router.get("/{name:path}")
@on_archivist
def show(
    served: Served, name: Annotated[str, PathParameter(max_length=PATH_LIMIT)]
) -> OutlinedDocument:
    """Return a document with its outline, by its id, path, file name or title."""
    store = served.queries.library.store
    if store is None:
        raise unknown_document(name, "documents")
    document = store.document(name)
    return OutlinedDocument(document, store.sections(document.id))


@router.post("", status_code=201)
async def add(
    request: Request,
    served: Served,
    path: Annotated[str, Query(min_length=1, max_length=PATH_LIMIT)],
) -> Document:
    """Add a document, whose bytes are the body; it takes the place of the one with its path.

    The same content again changes nothing.
    """
    data, place = await request.body(), PurePosixPath(path)
    if not path.isprintable() or place.is_absolute() or ".." in place.parts:
        raise MessageError("this cannot be the path of a document", where="path",
                           hint="send one such as shop/handbook.md")  # fmt: skip
    source = Source(str(place), len(data), utc_now(), hashlib.sha256(data).hexdigest())
    content = await asyncio.to_thread(_read, Path(place), data)

    def put(store: PostgresDocuments) -> Document:
        before = next((one for one in store.documents() if one.path == source.path), None)
        if before is not None and before.digest == source.digest:
            return before
        if before is not None:
            _check(served, store, before)
        return store.put(content, source)

    return await _changed(served, put)


@router.delete("/{document}")
async def remove(
    served: Served, document: Annotated[str, PathParameter(max_length=64)]
) -> Document:
    """Remove a document, by its id."""

    def drop(store: PostgresDocuments) -> Document:
        found = store.document(document)
        _check(served, store, found)
        return store.remove([found.id])[0]

    return await _changed(served, drop)


def _read(place: Path, data: bytes) -> Content:
    """Read what was sent. Raises MessageError."""
    try:
        readable_kind(place)
        with document_errors(place, "cannot be read", "save it anew, or leave it out"):
            return read_document(place, data)
    except KdsError as error:
        raise MessageError(error.message, where=str(place), hint=error.hint) from error


def _check(served: ServedWorkspace, store: PostgresDocuments, document: Document) -> None:
    """Raise ForbiddenError unless the person may change a document."""
    by, person = store.added_by(document), served.person
    if person is None or (person.role != "admin" and person.name != by):
        raise ForbiddenError(
            f"{by} added '{document.title}'",
            where=document.path,
            hint="ask them or an admin; or add yours under another name",
        )


async def _changed(served: ServedWorkspace, change: Callable[[PostgresDocuments], T]) -> T:
    """Do something to the documents of everybody. Raises ConflictError where there is no team."""
    person, shared = served.person, shared_database(served.workspace, environ=served.environ)
    if person is None or shared is None:
        raise ConflictError("this service is not shared", hint="add documents: kds docs add PATH")
    everybody = of_everybody(shared)

    def run() -> T:
        with closing(PostgresDocuments.of(everybody, person=person.name)) as store:
            return change(store)

    return await served.archivist.run(run)
