"""Conversations and questions about them, with the messages that answer each (DESIGN 8): JSON.

{"conversations": [{"id", "messages": [{"id", "role", "speaker", "at", "content"}]}],
 "queries": [{"conversation", "query", "relevant": [id], "category"}]}

``speaker``, ``at`` and ``category`` may be absent; a single id stands for a list of one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from kds.brain.errors import ExampleFileError, Problem
from kds.brain.passages.values import Role
from kds.evaluation.example_rows import SHOWN_PROBLEMS, kind

RETRIEVAL_FORM: Final = (
    '{"conversations": [{"id": "c1", "messages": [{"id": "m1", "role": "user", '
    '"content": "Staging listens on port 8081."}]}], '
    '"queries": [{"conversation": "c1", "query": "Which port has staging?", "relevant": ["m1"]}]}'
)

EPOCH: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""When messages without a time are taken to be said: a minute after each other from here on."""

TIME_FORMATS: Final = (
    "%I:%M %p on %d %B, %Y",  # as the LoCoMo dialogues have it
    "%d %B, %Y", "%d %B %Y", "%B %d, %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d (%a) %H:%M",
)  # fmt: skip
"""Beside ISO 8601."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _moment(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _parsed(value.strip())
    if found is None:
        raise ValueError("is no time: write 2025-11-03T09:00:00Z, or leave it out")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_Name = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class Said(_Model):
    """A message of a conversation; its ``id`` is unique there only."""

    id: _Name
    role: Role = "user"
    speaker: str | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    content: str


class Conversation(_Model):
    """Messages in order."""

    id: _Name
    messages: list[Said] = Field(min_length=1)

    @field_validator("messages")
    @classmethod
    def _timed(cls, messages: list[Said]) -> list[Said]:
        return [
            one if one.at else one.model_copy(update={"at": EPOCH + timedelta(minutes=number)})
            for number, one in enumerate(messages)
        ]


class RetrievalQuery(_Model):
    """A question about one conversation, and the ids of the messages that answer it."""

    conversation: _Name
    query: str = Field(min_length=1)
    relevant: Annotated[list[_Name], BeforeValidator(_listed)] = Field(min_length=1)
    category: Annotated[str | None, BeforeValidator(_text)] = None


class RetrievalSet(_Model):
    """All of a file."""

    conversations: list[Conversation] = Field(min_length=1)
    queries: list[RetrievalQuery] = Field(min_length=1)


def read_retrieval(path: Path) -> RetrievalSet:
    """Read a file. Raises ExampleFileError with all its problems at once, each with its place."""
    data = _loaded(path)
    try:
        found = RetrievalSet.model_validate(data)
    except ValidationError as error:
        raise _refusal(_problems(path, error)) from error
    if problems := list(_wrong_names(path, found)):
        raise _refusal(problems)
    return found


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text, form)  # a zone is added by the caller
        except ValueError:
            continue
    return None


def _loaded(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        where, hint = str(path), "check the path and its permissions"
    except UnicodeDecodeError as error:
        where, message, hint = str(path), f"is not UTF-8 (byte {error.start})", "save it as UTF-8"
    except json.JSONDecodeError as error:
        where, message = f"{path}:{error.lineno}", f"is not JSON: {error.msg}, column {error.colno}"
        hint = f"write {RETRIEVAL_FORM}"
    except RecursionError:
        where, message, hint = str(path), "is nested too deeply", f"write {RETRIEVAL_FORM}"
    raise _refusal([Problem(where, message, hint)])


def _problems(path: Path, error: ValidationError) -> list[Problem]:
    problems = []
    for found in error.errors():
        place = _place(found["loc"])
        message = found["msg"].removeprefix("Value error, ")
        if found["type"] == "missing":
            message = "is missing"
        elif "ctx" not in found or found["type"] == "literal_error":
            message = f"{message}, not {kind(found['input'])}"
        problems.append(Problem(str(path), f"{place} {_lower(message)}", _HINT))
    return problems


_HINT: Final = f"write {RETRIEVAL_FORM}"


def _wrong_names(path: Path, file: RetrievalSet) -> Iterator[Problem]:
    """Yield what validates piece by piece and still does not fit together."""
    known: dict[str, set[str]] = {}
    for at, one in enumerate(file.conversations):
        if one.id in known:
            yield _name_problem(path, f"conversations[{at}].id", f"'{one.id}' was there before")
        ids = known.setdefault(one.id, set())
        for number, said in enumerate(one.messages):
            if said.id in ids:
                place = f"conversations[{at}].messages[{number}].id"
                yield _name_problem(path, place, f"'{said.id}' was there before")
            ids.add(said.id)
    for at, query in enumerate(file.queries):
        yield from _unknown(path, at, query, known)


def _unknown(
    path: Path, at: int, query: RetrievalQuery, known: Mapping[str, set[str]]
) -> Iterator[Problem]:
    if query.conversation not in known:
        place = f"queries[{at}].conversation"
        yield _name_problem(path, place, f"there is no conversation '{query.conversation}'")
        return
    for missing in sorted(set(query.relevant) - known[query.conversation]):
        yield _name_problem(path, f"queries[{at}].relevant", f"there is no message '{missing}'")


def _name_problem(path: Path, place: str, message: str) -> Problem:
    return Problem(str(path), f"{place}: {message}", "name each once, and only what is there")


def _place(loc: Sequence[object]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return place.lstrip(".") or "the file"


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _refusal(problems: list[Problem]) -> ExampleFileError:
    more = len(problems) - SHOWN_PROBLEMS
    if more > 0:
        last = Problem(problems[0].where, f"{more} more problems", "mend those above first")
        problems = [*problems[:SHOWN_PROBLEMS], last]
    return ExampleFileError(problems)
