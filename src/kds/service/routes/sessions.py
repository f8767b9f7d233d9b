"""Sessions over HTTP: begun, listed, read, changed, written out, erased."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, AwareDatetime, Field
from starlette.responses import Response

from kds.api.session_names import session_page
from kds.brain.clock import utc_now
from kds.brain.context.journal import FUTURE_TOLERANCE
from kds.brain.errors import StoreError
from kds.brain.memory.export import ArchiveFile, archive, to_json, to_markdown
from kds.brain.memory.records import Session
from kds.brain.memory.sessions import ID_LIMIT, TITLE_LIMIT
from kds.brain.passages.values import Message, Role
from kds.brain.store.columns import within_reach
from kds.query.session import checked_id, checked_session
from kds.service.errors import ConflictError
from kds.service.models import DocumentPath, MessageText, Reply, RequestBody, ShortText
from kds.service.requests import Served, on_archivist
from kds.service.workspaces import ServedWorkspace

MOST_DOCUMENTS: Final = 50
"""Documents of a session."""

MOST: Final = 200
"""Sessions or messages of one page."""

Id = Annotated[str, Field(min_length=1, max_length=ID_LIMIT)]
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
    document: DocumentPath | None = None
    """The document that the session is about; null: none."""
    documents: list[DocumentPath] | None = Field(None, max_length=MOST_DOCUMENTS)
    """The documents that the session is about, in place of `document`."""

    @property
    def tied(self) -> str | None:
        """The documents that a session is to be about, one a line."""
        return self.document if self.documents is None else "\n".join(self.documents)


class NewSession(SessionChange):
    """A session to begin."""

    id: Id | None = None
    """Printable, not ending in `/export` or `/messages`; null: a random one."""


class NewMessage(RequestBody):
    """A message to store."""

    role: Role
    content: MessageText
    speaker: ShortText | None = Field(None, min_length=1)
    """Who of several it was."""
    at: Annotated[AwareDatetime, AfterValidator(_said_by_now)] | None = Field(None, strict=False)
    """When it was said; null: now."""
    id: Id | None = None
    """With an id of yours a message that is sent twice is stored once."""


class SessionReply(Reply):
    """A session, without what was said in it."""

    id: str
    title: str
    document: str | None = Field(validation_alias="document_context")
    """Of several the paths, one a line."""
    documents: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    messages: int = Field(validation_alias="message_count")
    tokens: int = Field(validation_alias="token_count")


class SavedSession(SessionReply):
    """A session that was begun or changed."""

    warnings: tuple[str, ...] = ()
    """Such as: the document is not in the store."""


class SessionsReply(Reply):
    """Sessions, the one changed last first."""

    sessions: list[SessionReply]
    next_offset: int | None
    """Where the next page begins; null: that is all."""


class SessionPage(SessionReply):
    """A session with a page of its messages, oldest first."""

    page: tuple[Message, ...] = ()
    next_offset: int | None = None
    """Where the next page begins; null: that is all."""


class DeletedReply(Reply):
    """What is gone, with its bytes in the file."""

    deleted: str


router = APIRouter(prefix="/sessions", tags=["sessions"])

_ONE = "/{session:path}"
"""An id may hold a slash: a hook's conversation is named by its client."""


@router.post("", status_code=201)
@on_archivist
def create_session(served: Served, asked: NewSession) -> SavedSession:
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
    return _saved(served, session, asked)


@router.get("")
@on_archivist
def list_sessions(served: Served, limit: LimitQuery = 50, offset: OffsetQuery = 0) -> SessionsReply:
    """List sessions, the one changed last first."""
    sessions, following = session_page(served.memory_if_any(), limit=limit, offset=offset)
    return SessionsReply.model_validate({"sessions": sessions, "next_offset": following})


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


@router.get(_ONE)
@on_archivist
def show_session(
    served: Served, session: SessionPath, limit: LimitQuery = 50, offset: OffsetQuery = 0
) -> SessionPage:
    """Return a session with a page of its messages, oldest first."""
    store = served.store_of(session)
    found = SessionPage.model_validate(store.session(session))
    end = min(offset + limit, found.messages)
    if end <= offset:
        return found
    page = store.messages(session, last=end - offset, before_seq=end + 1)
    return found.model_copy(
        update={
            "page": page,
            "next_offset": end if end < found.messages else None,
        }
    )


@router.patch(_ONE)
@on_archivist
def change_session(served: Served, session: SessionPath, asked: SessionChange) -> SavedSession:
    """Give a session a title, or say which document it is about; what is left out stays."""
    store = served.store_of(session, writes=True)
    if asked.title is not None:
        store.rename(session, asked.title)
    if not asked.model_fields_set.isdisjoint({"document", "documents"}):
        store.set_document(session, asked.tied)
    return _saved(served, store.session(session), asked)


@router.delete(_ONE)
@on_archivist
def delete_session(served: Served, session: SessionPath) -> DeletedReply:
    """Erase a session: messages, index, summaries, vectors, and their bytes in the file."""
    served.store_of(session)
    served.memory.delete(session)
    return DeletedReply(deleted=session)


@router.post(f"{_ONE}/messages", status_code=201)
@on_archivist
def add_message(served: Served, session: SessionPath, asked: NewMessage) -> Message:
    """Store a message at the end of a session; when this returns it is on the disk."""
    chosen = None if asked.id is None else checked_id(asked.id)
    store = served.store_of(session, writes=True)
    try:
        found = served.memory.add(
            session, asked.role, asked.content,
            speaker=asked.speaker, at=asked.at, message_id=chosen, summarise=False,
        )  # fmt: skip
        served.memory.catch_up_later(session)
    except StoreError as error:
        with suppress(StoreError):
            if chosen is not None:
                store.message(chosen)  # it is there
                raise ConflictError(error.message, where="id", hint=error.hint) from error
        raise
    assert found is not None  # None means that the memory is off, which `writes` refuses
    return found


def _saved(served: ServedWorkspace, session: Session, asked: SessionChange) -> SavedSession:
    """A session as it was saved; it says when a document it is to be about is not there."""
    notes = map(served.queries.library.note_on, (asked.tied or "").splitlines())
    saved = SavedSession.model_validate(session)
    return saved.model_copy(update={"warnings": tuple(filter(None, notes))})
