"""Conversations and questions about them, with the messages that answer each (DESIGN 8): JSON.

{"conversations": [{"id", "messages": [{"id", "role", "speaker", "at", "content"}]}],
 "queries": [{"conversation", "query", "relevant": [id], "category"}]}

``speaker``, ``at`` and ``category`` may be absent; a single id stands for a list of one.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, field_validator

from kds.brain.document import Document, validate
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.passages.values import Role
from kds.evaluation.data_files import Loose, in_json, listed, parse_json, read_file, shown

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


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _moment(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _parsed(value.strip())
    if found is None:
        raise ValueError("must be a time, such as 2025-11-03 09:00:00")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_Name = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class Said(Loose):
    """A message of a conversation; its ``id`` is unique there only."""

    id: _Name
    role: Role = "user"
    speaker: str | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    content: str


class Conversation(Loose):
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


class RetrievalQuery(Loose):
    """A question about one conversation, and the ids of the messages that answer it."""

    conversation: _Name
    query: str = Field(min_length=1)
    relevant: Annotated[list[_Name], BeforeValidator(listed)] = Field(min_length=1)
    category: Annotated[str | None, BeforeValidator(_text)] = None


class RetrievalSet(Loose):
    """All of a file."""

    conversations: list[Conversation] = Field(min_length=1)
    queries: list[RetrievalQuery] = Field(min_length=1)


def read_retrieval(path: Path) -> RetrievalSet:
    """Read a file. Raises ExampleFileError with all its problems at once, each with its place."""
    text = read_file(path)
    data = text if isinstance(text, Problem) else parse_json(text, path, form=RETRIEVAL_FORM)
    if isinstance(data, Problem):
        raise ExampleFileError([data])
    document = Document(str(path), data, {})
    found = validate(document, RetrievalSet)
    if isinstance(found, tuple):
        raise ExampleFileError(shown(in_json(found, RETRIEVAL_FORM), path))
    if problems := list(_wrong_names(document, found)):
        raise ExampleFileError(shown(problems, path))
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


def _wrong_names(document: Document, file: RetrievalSet) -> Iterator[Problem]:
    """Yield what validates piece by piece and still does not fit together."""
    for message in _misnamed(file):
        yield Problem(document.where(), message, "name each once, and only what is there")


def _misnamed(file: RetrievalSet) -> Iterator[str]:
    known: dict[str, Counter[str]] = {}
    for one in file.conversations:
        if one.id in known:
            yield f"there are several conversations '{one.id}'"
        known[one.id] = Counter(said.id for said in one.messages)
        for name in (name for name, count in known[one.id].items() if count > 1):
            yield f"conversation '{one.id}' has several messages '{name}'"
    for number, query in enumerate(file.queries, start=1):
        if query.conversation not in known:
            yield f"item {number} (in queries): there is no conversation '{query.conversation}'"
            continue
        for name in sorted(set(query.relevant) - known[query.conversation].keys()):
            yield f"'relevant' (in queries, item {number}): there is no message '{name}'"
