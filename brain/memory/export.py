"""Sessions as JSON, to be read back, and as Markdown, to be read.

The JSON of one or several sessions::

    {"kds_memory": 1,
     "sessions": [{"id", "title", "created_at", "updated_at", "document_context",
                   "messages": [{"id", "role", "speaker", "content", "at", "details"}],
                   "summaries": [{"first_seq", "last_seq", "text", "at", "kind"}]}]}
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NoReturn, TextIO, get_type_hints

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)

from kds.brain.clock import minute
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import Archive, MemoryStore
from kds.brain.memory.sessions import EXPORTED, ID_LIMIT, Session
from kds.brain.passages.details import without_profile
from kds.brain.passages.values import Message, Role, Summary, SummaryKind
from kds.brain.store.columns import within_reach

VERSION: Final = 1

PART: Final = 1 << 16
"""Characters of a file that are read at once."""

HEAD_LIMIT: Final = 1000
"""Characters before the first session: `to_json` writes some thirty."""

_HEAD: Final = re.compile(
    r'\s*\{\s*"kds_memory"\s*:\s*1\s*,\s*"sessions"\s*:\s*\[\s*(?P<end>\]\s*\}\s*)?'
)
_NEXT: Final = re.compile(r"\s*(?:,\s*|(?P<end>\]\s*\}\s*))")
"""What stands before the first session, and before another one or the end."""

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


def _fields() -> Iterator[tuple[str, Any]]:
    """The fields of a session that are exported, as pydantic takes them: type and default."""
    kinds = get_type_hints(Session) | {"id": Id}
    for one in EXPORTED:
        kind = Moment if kinds[one.name] is datetime else kinds[one.name]
        yield one.name, (kind, ... if one.default is MISSING else one.default)


_Session: Any = create_model(
    "_Session",
    __base__=_Part,
    **dict(_fields()),
    messages=(tuple[_Message, ...], ()),
    summaries=(tuple[_Summary, ...], ()),
)


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


def from_json(text: str, *, where: str = "the archive") -> tuple[Archive, ...]:
    """Read what `to_json` wrote. Raises StoreError that names the wrong places."""
    return tuple(ArchiveReader(where).read(text, last=True))


def archives_in(file: TextIO, *, where: str) -> Iterator[Archive]:
    """Yield the sessions of a file that `to_json` wrote, while it is read. Raises StoreError."""
    reader = ArchiveReader(where)
    try:
        while text := file.read(PART):
            yield from reader.read(text)
    except UnicodeDecodeError as error:
        raise StoreError("is not UTF-8 text", where=where, hint="check the file") from error
    yield from reader.read("", last=True)


class ArchiveReader:
    """Reads the sessions of an export while its text arrives; holds one session at a time."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._text = ""
        self._at = self._try_at = self._count = 0
        self._expected: re.Pattern[str] | None = _HEAD

    def read(self, text: str, *, last: bool = False) -> Iterator[Archive]:
        """Yield the sessions that ``text`` completes; ``last``: there is no more.

        Raises StoreError that names the wrong places.
        """
        self._text += text
        if len(self._text) < self._try_at and not last:
            return
        while (found := self._session(last=last)) is not None:
            yield found
        self._text, self._at = self._text[self._at :], 0
        self._try_at = 2 * len(self._text)  # what is incomplete is not read at each part again

    def _session(self, *, last: bool) -> Archive | None:
        """The next session; None where there is none, or not all of it yet."""
        found = self._expected and self._expected.match(self._text, self._at)
        if found and found["end"]:
            self._at, self._expected, found = found.end(), None, None
        if self._expected is None:
            if self._text[self._at :].strip():
                self._refuse("something stands behind the end")
            return None
        if found is None or found.end() == len(self._text):
            if last or (found is None and len(self._text) - self._at > HEAD_LIMIT):
                self._refuse("it begins otherwise, or is cut off")
            return None
        try:
            data, end = json.JSONDecoder().raw_decode(self._text, found.end())
        except (ValueError, RecursionError) as error:
            if last or isinstance(error, RecursionError):
                self._refuse(f"invalid JSON: {error}")
            return None
        self._at, self._expected = end, _NEXT
        self._count += 1
        return _archive_of(data, f"$.sessions[{self._count - 1}]", self._where)

    def _refuse(self, told: str) -> NoReturn:
        place = "$.kds_memory" if self._expected is _HEAD else f"$.sessions[{self._count}]"
        raise _refusal([f"{place}: {told}"], self._where)


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


def _archive_of(data: object, place: str, where: str) -> Archive:
    try:
        read: Any = _Session.model_validate(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise _refusal(
            [f"{place}{_path(one['loc'])}: {one['msg']}" for one in faults], where
        ) from (error)
    for count, summary in enumerate(read.summaries):
        if not summary.first_seq <= summary.last_seq <= len(read.messages):
            told = f"{place}.summaries[{count}]: the summary is of messages that are not there"
            raise _refusal([told], where)
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
