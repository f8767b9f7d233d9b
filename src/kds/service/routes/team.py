"""What is there for the commands of people who are logged in: their stores, and documents for all.

The documents of a team are added once, for everybody who works in the project of the service, who
find them beside their own, in `POST /query`, too. The person who added a document may replace or
remove it, and admins may.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs, to_jsonable_python
from starlette.responses import JSONResponse, Response

from kds.api.memory_search import Searched, search_memory
from kds.brain.clock import utc_now
from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.documents.store import find_whole
from kds.brain.documents.values import ALL, Content, Document, DocumentRecall, Source
from kds.brain.errors import KdsError, MessageError
from kds.brain.learning.examples import Learned
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.profile import Profile
from kds.brain.memory.sessions import Session
from kds.brain.passages.values import Message
from kds.brain.store.team import of_everybody
from kds.brain.workspace import shared_database
from kds.learning.teaching import LearnedSoFar, Learning, Taught, teach
from kds.readers.reading import read_document, readable_kind
from kds.readers.text import document_errors
from kds.service.errors import ConflictError, ForbiddenError, NotServedError
from kds.service.requests import (
    JSON,
    PATH_LIMIT,
    TEXT_LIMIT,
    MessageText,
    Served,
    ShortText,
    on_archivist,
)
from kds.service.team_stores import PAGE, PERMITTED
from kds.service.workspaces import ServedWorkspace

MOST: Final = 200  # hits of one search

Page = Annotated[int, Field(ge=1, le=PAGE)]
Limit = Annotated[int, Field(ge=1, le=MOST)]
Offset = Annotated[int, Field(ge=0, le=2**31)]

router = APIRouter(tags=["team"])


@router.post("/calls/{name}", response_model=JSON)
@on_archivist
def call(
    served: Served,
    name: Annotated[str, PathParameter(max_length=TEXT_LIMIT)],
    asked: dict[str, Any],
) -> Response:
    """Call a method of a store by its name, such as `memory.sessions`; the body has its arguments.

    For the commands of the same version of KDS.
    """
    if served.person is None:
        raise NotServedError("this service is not shared", where=name)
    function = _INSTEAD.get(name) or PERMITTED.get(name)
    if function is None:
        raise NotServedError("there is no such call", where=name, hint="is this KDS as new?")
    of = served if name in _INSTEAD else _store(served, name)
    try:
        found = _checked(function).validate_python(ArgsKwargs((of,), asked))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise MessageError(f"{where}: {fault['msg']}", where=where) from error
    except OverflowError as error:
        raise MessageError(f"too long a span of time: {error}", where=name) from error
    return JSONResponse(to_jsonable_python(found))


@lru_cache
def _checked(function: Any) -> TypeAdapter[Any]:
    return TypeAdapter(function, config=ConfigDict(arbitrary_types_allowed=True))


_WRITING: Final = frozenset({"memory.rename", "memory.set_document", "profile.grant"})
"""Calls that are refused where the memory is off; removing is not."""


def _store(served: ServedWorkspace, name: str) -> object:
    """The store of a person that a call is for."""
    place = name.partition(".")[0]
    if place == "documents":
        return served.queries.library.store
    store = served.memory_for_writing() if name in _WRITING else _memory(served)
    return store if place == "memory" else getattr(store, place)


def _memory(served: ServedWorkspace) -> MemoryStore:
    return served.memory_if_any() or served.memory_for_writing()


def _sessions(served: ServedWorkspace, limit: Page, offset: Offset = 0) -> tuple[Session, ...]:
    return _memory(served).sessions(limit=limit, offset=offset)


def _messages(
    served: ServedWorkspace, session_id: str, last: Page, before_seq: Offset | None = None,
    details: bool = False,
) -> tuple[Message, ...]:  # fmt: skip
    store = _memory(served)
    return store.messages(session_id, last=last, before_seq=before_seq, details=details)


def _delete_session(served: ServedWorkspace, session_id: str) -> None:
    served.store_of(session_id).delete_session(session_id)


def _search(
    served: ServedWorkspace, query: MessageText, limit: Limit, session: str | None = None,
    budget: int | None = None,
) -> Searched:  # fmt: skip
    """Search past conversations; the search is measured."""
    options, embedder = served.memory.config.settings.recall, served.queries.embedder.ready
    return search_memory(
        _memory(served), query, options=options, session=session, limit=limit, budget=budget,
        embedder=embedder, surface="http",
    )  # fmt: skip


def _save_profile(served: ServedWorkspace, profile: Profile) -> Profile:
    """Replace what is kept about the user; the service makes the vectors."""
    kept = served.memory_for_writing().profile
    if not kept.consent().given:
        raise ConflictError("there is no consent", hint="give it first: kds memory consent grant")
    changed = kept.save(profile)
    if (embedder := served.queries.embedder.ready) is not None:
        kept.embed(embedder)
    return changed


def _learned(served: ServedWorkspace) -> LearnedSoFar:
    return replace(_learning(served).so_far(), place="the service")


def _teach(
    served: ServedWorkspace, message: MessageText, intent: ShortText | None = None,
    means: ShortText | None = None, force: bool = False,
) -> Taught:  # fmt: skip
    return teach(
        served.workspace, message, intent, means=means, force=force, environ=served.environ
    )


def _undo(served: ServedWorkspace, id: ShortText) -> Learned:
    return _learning(served).undo_last() if id == "last" else _learning(served).undo(id)


def _learning(served: ServedWorkspace) -> Learning:
    return Learning(served.workspace, environ=served.environ)


def _search_documents(
    served: ServedWorkspace, query: MessageText, limit: Limit, scope: str = ALL
) -> DocumentRecall:
    library, only = served.queries.library, None if scope == ALL else scope
    found = library.search(query, limit=limit, embedder=served.queries.embedder.ready, only=only)
    return found or DocumentRecall(query, (), (), (), {})


def _remove_documents(served: ServedWorkspace, names: Sequence[str]) -> tuple[Document, ...]:
    """Remove documents that the person may change; none where one of the names is wrong."""
    with closing(_of_everybody(served)) as store:
        known = store.documents()
        found = [find_whole(known, name, "the documents of the team") for name in names]
        for one in found:
            _check(served, store, one)
        return store.remove([one.id for one in found])


_INSTEAD: Final[Mapping[str, Callable[..., Any]]] = {
    "memory.sessions": _sessions,
    "memory.messages": _messages,
    "memory.delete_session": _delete_session,
    "memory.search": _search,
    "profile.save": _save_profile,
    "documents.search": _search_documents,
    "documents.remove": _remove_documents,
    "learning.list": _learned,
    "learning.teach": _teach,
    "learning.undo": _undo,
}
"""Calls that need more of the service than a store."""


@router.post("/documents", status_code=201)
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

    def put() -> Document:
        with closing(_of_everybody(served)) as store:
            before = next((one for one in store.documents() if one.path == source.path), None)
            if before is not None and before.digest == source.digest:
                return before
            if before is not None:
                _check(served, store, before)
            return store.put(content, source)

    return await served.archivist.run(put)


def _read(place: Path, data: bytes) -> Content:
    """Read what was sent. Raises MessageError."""
    try:
        readable_kind(place)
        with document_errors(place, "cannot be read", "save it anew, or leave it out"):
            return read_document(place, data)
    except KdsError as error:
        raise MessageError(error.message, where=str(place), hint=error.hint) from error


def _of_everybody(served: ServedWorkspace) -> PostgresDocuments:
    """Open the documents of everybody. Raises ConflictError where there is no team."""
    person, shared = served.person, shared_database(served.workspace, environ=served.environ)
    if person is None or shared is None:
        raise ConflictError("this service is not shared", hint="add documents: kds docs add PATH")
    return PostgresDocuments.of(of_everybody(shared), person=person.name)


def _check(served: ServedWorkspace, store: PostgresDocuments, document: Document) -> None:
    """Raise ForbiddenError unless the person may change a document."""
    by, person = store.added_by(document), served.person
    if person is None or (person.role != "admin" and person.name != by):
        raise ForbiddenError(
            f"{by} added '{document.title}'",
            where=document.path,
            hint="ask them or an admin; or add yours under another name",
        )
