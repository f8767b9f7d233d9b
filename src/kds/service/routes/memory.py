"""The memory over HTTP: its sessions, figures, and the consent to a profile."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.encoders import jsonable_encoder
from pydantic import AfterValidator, AwareDatetime, Field
from starlette.responses import JSONResponse, Response

from kds.api.embeddings import model_name
from kds.api.turn_log import session_page
from kds.brain.clock import utc_now
from kds.brain.context.journal import FUTURE_TOLERANCE
from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.export import ArchiveFile, archive, from_json, to_json, to_markdown
from kds.brain.memory.profile import PURPOSE_LIMIT, Consent
from kds.brain.memory.sessions import ID_LIMIT, TITLE_LIMIT, Session
from kds.brain.passages.values import Message, Role
from kds.brain.store.columns import within_reach
from kds.brain.store.maintenance import index_sizes
from kds.brain.turn import plain
from kds.query.reading import checked_session
from kds.service.errors import ConflictError
from kds.service.requests import (
    JSON,
    PATH_LIMIT,
    MessageText,
    RequestBody,
    Served,
    ShortText,
    on_archivist,
)

MOST_DOCUMENTS: Final = 50  # of a session
MOST: Final = 200  # sessions or messages of one page
WEEK_HOURS: Final = 7 * 24  # as far back as `kds metrics` looks
MOST_HOURS: Final = 30 * 24  # as long as measurements are kept

STORED: Final = ("sessions", "messages", "tokens", "size_bytes")
HELD: Final = ("documents", "sections", "chunks", "tokens", "size_bytes")

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
    documents: list[Annotated[str, Field(max_length=PATH_LIMIT)]] | None = Field(
        None, max_length=MOST_DOCUMENTS
    )
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


class GrantRequest(RequestBody):
    """Consent to a profile: for what it may be kept and used."""

    purpose: str = Field(min_length=1, max_length=PURPOSE_LIMIT)


sessions = APIRouter(prefix="/sessions", tags=["sessions"])
router = APIRouter(prefix="/api/memory", tags=["memory"])

_ONE = "/{session:path}"  # an id may hold a slash: a hook's conversation is named by its client
_ARCHIVE: Final = {"schema": {"$ref": "#/components/schemas/ArchiveFile"}}


@sessions.post("", status_code=201, response_model=JSON)
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
    return JSONResponse(_told(session), 201)


@sessions.post(
    "/import", status_code=201, response_model=JSON,
    openapi_extra={"requestBody": {"content": {"application/json": _ARCHIVE}, "required": True}},
)  # fmt: skip
async def import_sessions(served: Served, request: Request) -> Response:
    """Put exported sessions back; the body is their JSON. One whose id is taken gets a new one.

    Where one of them is wrong, none is stored.
    """
    body = await request.body()

    def restore() -> list[Session]:
        try:
            archives = from_json(body, where="body")
        except StoreError as error:
            raise MessageError(error.message, where=error.where, hint=error.hint) from error
        return list(map(served.memory_for_writing().restore, archives))

    restored = await served.archivist.run(restore)
    return JSONResponse({"sessions": list(map(_told, restored))}, 201)


@sessions.get("", response_model=JSON)
@on_archivist
def list_sessions(served: Served, limit: LimitQuery = 50, offset: OffsetQuery = 0) -> Response:
    """List sessions, the one changed last first; `next_offset` is null where that is all."""
    found, following = session_page(served.memory_if_any(), limit=limit, offset=offset)
    return JSONResponse({"sessions": list(map(_told, found)), "next_offset": following})


@sessions.get(
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


@sessions.get(_ONE, response_model=JSON)
@on_archivist
def show_session(
    served: Served, session: SessionPath, limit: LimitQuery = 50, offset: OffsetQuery = 0
) -> Response:
    """Return a session with a page of its messages, oldest first, and what it has referred to."""
    store = served.store_of(session)
    found, known = store.session(session), store.entities.load(session)
    end = min(offset + limit, found.message_count)
    page = store.messages(session, last=end - offset, before_seq=end + 1) if end > offset else ()
    following = end if offset < end < found.message_count else None
    more = {"page": page, "terms": known.terms if known else (), "next_offset": following}
    return JSONResponse(_told(found) | jsonable_encoder(more))


@sessions.patch(_ONE, response_model=JSON)
@on_archivist
def change_session(served: Served, session: SessionPath, asked: SessionChange) -> Response:
    """Give a session a title, or say which documents it is about; what is left out stays."""
    store = served.store_of(session, writes=True)
    if asked.title is not None:
        store.rename(session, asked.title)
    if "documents" in asked.model_fields_set:
        store.set_document(session, asked.tied)
    return JSONResponse(_told(store.session(session)))


@sessions.delete(_ONE)
@on_archivist
def delete_session(served: Served, session: SessionPath) -> dict[str, str]:
    """Erase a session: messages, index, summaries, vectors, and their bytes in the file."""
    served.store_of(session).delete_session(session)
    return {"deleted": session}


@sessions.post(f"{_ONE}/messages", status_code=201)
@on_archivist
def add_message(served: Served, session: SessionPath, asked: NewMessage) -> Message:
    """Store a message at the end of a session; when this returns it is on the disk."""
    served.store_of(session, writes=True)
    found = served.memory.add(session, **dict(asked), summarise=False)
    served.memory.catch_up_later(session)
    assert found is not None  # None means that the memory is off, which `writes` refuses
    return found


@router.get("/metrics", response_model=JSON)
@on_archivist
def metrics(
    served: Served, hours: Annotated[int, Query(ge=1, le=MOST_HOURS)] = WEEK_HOURS
) -> Response:
    """Return what `kds metrics --json` prints, and how often the session memory was of use."""
    report, stats = served.figures(timedelta(hours=hours))
    return JSONResponse(report.as_dict() | {"memory": _numbers(stats, *STORED)})


@router.get("/debug/stats", response_model=JSON)
@on_archivist
def stats(served: Served) -> Response:
    """Return how much is stored, and how the queries and the embedding are doing."""
    store = served.memory_if_any()
    held = store.stats() if store else None
    documents = served.queries.library.store
    model = model_name(served.memory.config.settings.recall.embeddings)
    return JSONResponse(
        {
            "memory": {
                **_numbers(held, *STORED, "chunks", "summaries"),
                "enabled": served.memory.flags.enabled,
                "models": plain(held.models) if held else [],
            },
            "index_bytes": index_sizes(store.database) if store else {},
            "consent": store.profile.consent().given if store else False,
            "documents": _numbers(documents.holdings() if documents else None, *HELD),
            "queries": {"waiting": served.worker.waiting},
            "embedding": {"model": model, "last_error": served.embedding_error},
        }
    )


@router.get("/consent")
@on_archivist
def consent(served: Served) -> dict[str, Any]:
    """Say whether a profile of the user may be kept, since when, and what was done with it."""
    store = served.memory_if_any()
    given = store.profile.consent() if store else Consent(given=False)
    return {**asdict(given), "events": store.profile.events() if store else ()}


@router.post("/consent")
async def grant(served: Served, asked: GrantRequest) -> dict[str, Any]:
    """Note the user's consent to a profile, and what it is for."""
    await served.archivist.run(lambda: served.memory_for_writing().profile.grant(asked.purpose))
    return await consent(served=served)


@router.delete("/consent")
async def revoke(served: Served) -> dict[str, Any]:
    """Withdraw consent, and erase the profile with its bytes in every file."""
    await served.archivist.run(lambda: (one := served.memory_if_any()) and one.profile.revoke())
    return await consent(served=served)


def _told(session: Session) -> dict[str, Any]:
    """A session, without what was said in it."""
    told: dict[str, Any] = jsonable_encoder(session, exclude={"num", "document_context"})
    told |= {"messages": told.pop("message_count"), "tokens": told.pop("token_count")}
    return {**told, "documents": list(session.documents)}


def _numbers(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value by name; zeros when there is none."""
    return {name: 0 if value is None else getattr(value, name) for name in names}
