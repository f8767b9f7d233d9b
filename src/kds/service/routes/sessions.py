"""Sessions over HTTP: begun, listed, read, changed, written out, erased."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query
from fastapi.encoders import jsonable_encoder
from pydantic import AfterValidator, AwareDatetime, Field
from starlette.responses import JSONResponse, Response

from kds.api.session_names import session_page
from kds.brain.clock import utc_now
from kds.brain.context.journal import FUTURE_TOLERANCE
from kds.brain.memory.export import ArchiveFile, archive, to_json, to_markdown
from kds.brain.memory.records import Session
from kds.brain.memory.sessions import ID_LIMIT, TITLE_LIMIT
from kds.brain.passages.values import Message, Role
from kds.brain.store.columns import within_reach
from kds.query.session import checked_session
from kds.service.errors import ConflictError
from kds.service.models import JSON, DocumentPath, MessageText, RequestBody, ShortText
from kds.service.requests import Served, on_archivist
from kds.service.workspaces import ServedWorkspace

MOST_DOCUMENTS: Final = 50
"""Documents of a session."""

MOST: Final = 200
"""Sessions or messages of one page."""

SessionPath = Annotated[str, Path(max_length=ID_LIMIT)]
LimitQuery = Annotated[int, Query(ge=1, le=MOST)]
OffsetQuery = Annotated[int, Query(ge=0, le=2**31)]


def _said_by_now(at: datetime) -> datetime:
    """Return a moment that was; a clock may be ahead of ours. Raises ValueError."""
    if at > utc_now() + FUTURE_TOLERANCE:
        raise ValueError("lies in the future")
    return within_reach(at)


class SessionChange(RequestBody):
    """What is to change of a session; what is left out stays."""

    title: str | None = Field(None, min_length=1, max_length=TITLE_LIMIT)
    """Without one the beginning of the first question serves."""
    documents: list[DocumentPath] | None = Field(None, max_length=MOST_DOCUMENTS)
    """The documents that the session is about."""

    @property
    def tied(self) -> str | None:
        """The documents that a session is to be about, one a line."""
        return "\n".join(self.documents or ()) or None


class NewSession(SessionChange):
    """A session to begin."""

    id: str | None = Field(None, min_length=1, max_length=ID_LIMIT)
    """Printable, not ending in `/export` or `/messages`; null: a random one."""


class NewMessage(RequestBody):
    """A message to store."""

    role: Role
    content: MessageText
    speaker: ShortText | None = Field(None, min_length=1)
    """Who of several it was."""
    at: Annotated[AwareDatetime, AfterValidator(_said_by_now)] | None = Field(None, strict=False)
    """When it was said; null: now."""


router = APIRouter(prefix="/sessions", tags=["sessions"])

_ONE = "/{session:path}"
"""An id may hold a slash: a hook's conversation is named by its client."""


@router.post("", status_code=201, response_model=JSON)
@on_archivist
def create_session(served: Served, asked: NewSession) -> Response:
    """Begin a session."""
    chosen = None if asked.id is None else checked_session(asked.id)
    store = served.memory_for_writing()
    if chosen is not None and store.find_session(chosen) is not None:
        raise ConflictError(
            "there is a session with this id already",
            where="id",
            hint="go on with it, or choose another id",
        )
    session = store.create_session(
        title=asked.title, document_context=asked.tied, session_id=chosen
    )
    return JSONResponse(_saved(served, session, asked), 201)


@router.get("", response_model=JSON)
@on_archivist
def list_sessions(served: Served, limit: LimitQuery = 50, offset: OffsetQuery = 0) -> Response:
    """List sessions, the one changed last first; `next_offset` is null where that is all."""
    sessions, following = session_page(served.memory_if_any(), limit=limit, offset=offset)
    return JSONResponse({"sessions": list(map(_told, sessions)), "next_offset": following})


@router.get(
    f"{_ONE}/export",
    response_model=ArchiveFile,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
@on_archivist
def export_session(
    served: Served, session: SessionPath, format: Literal["json", "markdown"] = "json"
) -> Response:
    """Write a session out whole: JSON that can be imported again, or Markdown to read."""
    found = archive(served.store_of(session), session)
    if format == "markdown":
        return Response(to_markdown(found), media_type="text/markdown")
    return Response(to_json([found]), media_type="application/json")


@router.get(_ONE, response_model=JSON)
@on_archivist
def show_session(
    served: Served, session: SessionPath, limit: LimitQuery = 50, offset: OffsetQuery = 0
) -> Response:
    """Return a session with a page of its messages, oldest first."""
    store = served.store_of(session)
    found = store.session(session)
    end = min(offset + limit, found.message_count)
    page = store.messages(session, last=end - offset, before_seq=end + 1) if end > offset else ()
    following = end if offset < end < found.message_count else None
    return JSONResponse({**_told(found), "page": jsonable_encoder(page), "next_offset": following})


@router.patch(_ONE, response_model=JSON)
@on_archivist
def change_session(served: Served, session: SessionPath, asked: SessionChange) -> Response:
    """Give a session a title, or say which documents it is about; what is left out stays."""
    store = served.store_of(session, writes=True)
    if asked.title is not None:
        store.rename(session, asked.title)
    if "documents" in asked.model_fields_set:
        store.set_document(session, asked.tied)
    return JSONResponse(_saved(served, store.session(session), asked))


@router.delete(_ONE)
@on_archivist
def delete_session(served: Served, session: SessionPath) -> dict[str, str]:
    """Erase a session: messages, index, summaries, vectors, and their bytes in the file."""
    served.store_of(session)
    served.memory.delete(session)
    return {"deleted": session}


@router.post(f"{_ONE}/messages", status_code=201)
@on_archivist
def add_message(served: Served, session: SessionPath, asked: NewMessage) -> Message:
    """Store a message at the end of a session; when this returns it is on the disk."""
    served.store_of(session, writes=True)
    found = served.memory.add(session, **dict(asked), summarise=False)
    served.memory.catch_up_later(session)
    assert found is not None  # None means that the memory is off, which `writes` refuses
    return found


def _told(session: Session) -> dict[str, Any]:
    """A session, without what was said in it."""
    told: dict[str, Any] = jsonable_encoder(session, exclude={"num", "document_context"})
    told |= {"messages": told.pop("message_count"), "tokens": told.pop("token_count")}
    return {**told, "documents": list(session.documents)}


def _saved(served: ServedWorkspace, session: Session, asked: SessionChange) -> dict[str, Any]:
    """A session as it was saved; it says when a document it is to be about is not there."""
    notes = map(served.queries.library.note_on, asked.documents or ())
    return {**_told(session), "warnings": list(filter(None, notes))}
