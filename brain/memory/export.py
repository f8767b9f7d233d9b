"""Sessions as JSON, to be read back, and as Markdown, to be read.

The JSON of one or several sessions::

    {"kds_memory": 1,
     "sessions": [{"id", "title", "created_at", "updated_at", "document_context",
                   "messages": [{"id", "role", "speaker", "content", "at", "details"}],
                   "summaries": [{"first_seq", "last_seq", "text", "at", "kind"}]}]}
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from kds.brain.clock import minute
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import Archive, MemoryStore
from kds.brain.memory.sessions import EXPORTED, ID_LIMIT, Session
from kds.brain.passages.details import without_profile
from kds.brain.passages.values import Message, Role, Summary, SummaryKind
from kds.brain.store.columns import within_reach

VERSION: Final = 1

_PROBLEMS_SHOWN: Final = 5

Id = Annotated[str, Field(min_length=1, max_length=ID_LIMIT, pattern=r"^\S(?:.*\S)?$")]
Moment = Annotated[AwareDatetime, AfterValidator(within_reach)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Message(_Part):
    id: Id | None = None
    role: Role
    speaker: str | None = None
    content: str
    at: Moment
    details: str | None = None


class _Summary(_Part):
    first_seq: int = Field(ge=1)
    last_seq: int = Field(ge=1)
    text: str
    at: Moment
    kind: SummaryKind


class _Session(_Part):
    id: Id
    title: str = ""
    created_at: Moment
    updated_at: Moment
    document_context: str | None = None
    messages: tuple[_Message, ...] = ()
    summaries: tuple[_Summary, ...] = ()

    @model_validator(mode="after")
    def _has_what_is_summarised(self) -> Self:
        for one in self.summaries:
            if not one.first_seq <= one.last_seq <= len(self.messages):
                raise ValueError("a summary is of messages that are not there")
        return self


class ArchiveFile(_Part):
    """What `to_json` writes."""

    kds_memory: Literal[1]
    sessions: tuple[_Session, ...]


def archive(store: MemoryStore, session_id: str) -> Archive:
    """Read a whole session."""
    return Archive(
        store.session(session_id),
        store.messages(session_id, details=True),
        store.summaries(session_id),
    )


def to_json(archives: Iterable[Archive]) -> str:
    """Write sessions as JSON."""
    data = {"kds_memory": VERSION, "sessions": [_session_data(found) for found in archives]}
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def checksum(archives: Iterable[Archive]) -> str:
    """Return 16 hex digits that are equal for equal sessions, in any order and under any ids.

    Export and import both print it, so that a memory that was moved can be compared.
    """
    parts = []
    for found in archives:
        data = _session_data(found)
        rows = [one | {"id": None} for one in data.pop("messages")]
        text = json.dumps(data | {"id": None, "messages": rows}, sort_keys=True, default=str)
        parts.append(hashlib.sha256(text.encode(errors="replace")).hexdigest())
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()[:16]


def from_json(text: str | bytes, *, where: str = "the archive") -> tuple[Archive, ...]:
    """Read what `to_json` wrote. Raises StoreError that names the wrong places."""
    try:
        read = ArchiveFile.model_validate(json.loads(text))
    except ValidationError as error:
        faults = [f"${_path(one['loc'])}: {one['msg']}" for one in error.errors()]
        raise _refusal(faults, where) from error
    except (ValueError, RecursionError) as error:
        raise _refusal([f"invalid JSON: {error}"], where) from error
    return tuple(map(_archive_of, read.sessions))


def to_markdown(found: Archive) -> str:
    """Write a session for reading.

    The messages stand as they are, with whatever Markdown is in them.
    """
    session = found.session
    lines = [
        f"# {session.title or session.id}",
        "",
        f"- Session: `{session.id}`",
        f"- Begun: {minute(session.created_at)}, last changed: {minute(session.updated_at)}",
    ]
    if session.documents:
        label = "Document" if len(session.documents) == 1 else "Documents"
        lines.append(f"- {label}: {', '.join(session.documents)}")
    lines += [f"- Messages: {session.message_count}, about {session.token_count} tokens", ""]
    for one in found.summaries:
        lines.append(f"> **Summary of messages {one.first_seq}-{one.last_seq}.**")
        lines += [*(f"> {line}" for line in one.text.split("\n")), ""]
    for message in found.messages:
        speaker = f" ({message.speaker})" if message.speaker else ""
        head = f"## {message.seq}. {message.role.capitalize()}{speaker}, {minute(message.at)}"
        lines += [head, "", message.content, ""]
    return "\n".join(lines).rstrip() + "\n"


def _session_data(found: Archive) -> dict[str, Any]:
    return {
        **_data(_Session, found.session),
        "messages": [_data(_Message, one) for one in found.messages],
        "summaries": [_data(_Summary, one) for one in found.summaries],
    }


def _data(part: type[_Part], value: object) -> dict[str, Any]:
    """The fields of a part, of the value that it stands for; no details where there are none."""
    found: dict[str, Any] = {}
    for name in part.model_fields:
        one = getattr(value, name, None)
        if name == "details":
            if one:
                found[name] = without_profile(one)
        elif hasattr(value, name):
            found[name] = one.isoformat() if isinstance(one, datetime) else one
    return found


def _archive_of(read: _Session) -> Archive:
    fields = {one.name: getattr(read, one.name) for one in EXPORTED}
    session = Session(**fields, message_count=len(read.messages))
    messages = tuple(
        Message(row.id or "", read.id, seq, tokens=0, **row.model_dump(exclude={"id"}))
        for seq, row in enumerate(read.messages, start=1)
    )
    summaries = tuple(Summary(0, read.id, **row.model_dump()) for row in read.summaries)
    return Archive(session, messages, summaries)


def _refusal(faults: Sequence[str], where: str) -> StoreError:
    shown = "; ".join(faults[:_PROBLEMS_SHOWN])
    more = f" (and {len(faults) - _PROBLEMS_SHOWN} more)" if len(faults) > _PROBLEMS_SHOWN else ""
    return StoreError(
        f"it is not an export of the memory: {shown}{more}",
        where=where,
        hint="correct it, or export the sessions again: kds memory export",
    )


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in location)
