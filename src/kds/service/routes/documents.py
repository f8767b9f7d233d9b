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
from kds.brain.documents.store import Documents, unknown_document
from kds.brain.documents.values import (
    ALL,
    Content,
    Document,
    DocumentRecall,
    OutlinedDocument,
    Source,
)
from kds.brain.errors import KdsError, MessageError
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.store.team import Person, of_everybody
from kds.brain.workspace import shared_database
from kds.readers.reading import read_document, readable_kind
from kds.readers.text import document_errors
from kds.service.errors import ConflictError, ForbiddenError
from kds.service.requests import PATH_LIMIT, RequestBody, Served
from kds.service.workspaces import ServedWorkspace

MOST: Final = 100
"""Passages of one search."""

T = TypeVar("T")

Name = Annotated[str, PathParameter(max_length=PATH_LIMIT)]
"""An id, a path, a file's name or a title."""


class SearchRequest(RequestBody):
    """What to look for in the documents."""

    query: str = Field(min_length=1, max_length=MESSAGE_LIMIT)
    limit: int = Field(5, ge=1, le=MOST)
    scope: str = Field(ALL, max_length=PATH_LIMIT)
    """"all", or the only document to look at."""


router = APIRouter(prefix="/documents", tags=["documents"])


@router.get("")
async def documents(served: Served) -> tuple[Document, ...]:
    """List the documents, by path."""
    return await _found(served, lambda store: store.documents()) or ()


@router.post("/search")
async def search(served: Served, asked: SearchRequest) -> DocumentRecall:
    """Find the passages that answer a question."""
    embedder = served.queries.embedder.ready
    found = served.queries.library
    return await served.archivist.run(
        lambda: found.search(
            asked.query, limit=asked.limit, embedder=embedder,
            only=None if asked.scope == ALL else asked.scope,
        ) or DocumentRecall(asked.query, (), (), (), {})
    )  # fmt: skip


@router.get("/{name:path}")
async def show(served: Served, name: Name) -> OutlinedDocument:
    """Return a document with its outline."""

    def look(store: Documents) -> OutlinedDocument:
        document = store.document(name)
        return OutlinedDocument(document, store.sections(document.id))

    if (found := await _found(served, look)) is None:
        raise unknown_document(name, "documents")
    return found


@router.post("", status_code=201)
async def add(
    request: Request,
    served: Served,
    path: Annotated[str, Query(min_length=1, max_length=PATH_LIMIT)],
) -> Document:
    """Add a document, whose bytes are the body; it takes the place of the one with its path.

    The same content again changes nothing.
    """
    person = _person(served)
    data = await request.body()
    place = PurePosixPath(path)
    if not path.isprintable() or place.is_absolute() or ".." in place.parts:
        raise MessageError("this cannot be the path of a document", where="path",
                           hint="send one such as shop/handbook.md")  # fmt: skip
    source = Source(str(place), len(data), utc_now(), hashlib.sha256(data).hexdigest())

    def known(store: PostgresDocuments) -> Document | None:
        found = next((one for one in store.documents() if one.path == source.path), None)
        if found is not None and found.digest != source.digest:
            _check(store, found, person)
        return found

    before = await _changed(served, known)
    if before is not None and before.digest == source.digest:
        return before
    content = await asyncio.to_thread(_read, Path(place), data)

    def put(store: PostgresDocuments) -> Document:
        known(store)  # somebody else may have been faster
        return store.put(content, source)

    return await _changed(served, put)


@router.delete("/{document}")
async def remove(
    served: Served, document: Annotated[str, PathParameter(max_length=64)]
) -> Document:
    """Remove a document, by its id."""
    person = _person(served)

    def drop(store: PostgresDocuments) -> Document:
        found = store.document(document)
        _check(store, found, person)
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


def _person(served: ServedWorkspace) -> Person:
    """Whose request it is. Raises ConflictError where there is no team."""
    if served.person is None:
        raise ConflictError("this service is not shared", hint="add documents: kds docs add PATH")
    return served.person


def _check(store: PostgresDocuments, document: Document, person: Person) -> None:
    """Raise ForbiddenError unless a person may change a document."""
    by = store.added_by(document)
    if person.role != "admin" and person.name != by:
        raise ForbiddenError(
            f"{by} added '{document.title}'",
            where=document.path,
            hint="ask them or an admin; or add yours under another name",
        )


async def _found(served: ServedWorkspace, look: Callable[[Documents], T]) -> T | None:
    """What ``look`` finds among all documents that a person sees; None: there are none."""

    def run() -> T | None:
        store = served.queries.library.store
        return None if store is None else look(store)

    return await served.archivist.run(run)


async def _changed(served: ServedWorkspace, change: Callable[[PostgresDocuments], T]) -> T:
    """Do something to the documents of everybody, and not to the person's own."""
    person = _person(served)

    def run() -> T:
        shared = shared_database(served.workspace, environ=served.environ)
        assert shared is not None  # a shared service has a database
        everybody = of_everybody(shared)
        with closing(PostgresDocuments.of(everybody, person=person.name)) as store:
            return change(store)

    return await served.archivist.run(run)
