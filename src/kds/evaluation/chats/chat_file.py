"""Chat files: real conversations with coding assistants, turn by turn, with what refers back.

docs/evaluation.md has the form and the label guide. A reference is an expression that points
outside its message, to something said or done before.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError

from kds.evaluation.example_rows import Row, read_rows

Kind = Literal["pronoun", "demonstrative", "definite", "one", "ellipsis", "other"]
Source = Literal["user", "assistant", "none"]

CHAT_FORM: Final = (
    '{"id": "a", "turns": [{"user": "Add a FAB button", "assistant": "Done.", "labelled": true, '
    '"intents": ["EXECUTE"], "refs": []}]}'
)
"""What a row looks like, for hints."""

_REF_FORM: Final = (
    '{"text": "it", "nth": 1, "kind": "pronoun", "antecedents": ["the FAB button"], '
    '"source": "user", "must": true}'
)


@dataclass(frozen=True, slots=True)
class ChatReference:
    """An expression of a message that points outside it; ``text`` is "" for something left out.

    ``start`` is its offset in characters, -1 where it does not stand in the message.
    ``source`` is where its name can be read. Without what it ``must`` have a stranger could not
    act on the message.
    """

    text: str
    start: int
    kind: str
    antecedents: tuple[str, ...]
    source: str
    must: bool

    @property
    def end(self) -> int:
        """The offset behind it; -1 where it does not stand in the message."""
        return self.start + len(self.text) if self.start >= 0 else -1


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What a user typed, and the assistant's reply; intents and references where ``labelled``."""

    user: str
    reply: str
    labelled: bool
    intents: tuple[str, ...]
    references: tuple[ChatReference, ...]


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation; ``group`` names its author or repository ("" where none is named)."""

    id: str
    group: str
    turns: tuple[ChatTurn, ...]


def read_chats(path: Path) -> tuple[Chat, ...]:
    """Read a chat file, JSON lines. Raises ExampleFileError with everything wrong in it."""
    return read_rows(path, _chat, form=CHAT_FORM)


def _chat(row: Row) -> Chat:
    turns = row.data.get("turns")
    if not isinstance(turns, list) or not turns:
        row.problem("'turns' must be a list of turns", f"write {CHAT_FORM}")
        turns = []
    group = row.data.get("repo")
    return Chat(
        row.text("id"),
        group if isinstance(group, str) else "",
        tuple(_turn(row, turn, number) for number, turn in enumerate(turns, start=1)),
    )


def _turn(row: Row, turn: object, number: int) -> ChatTurn:
    if not isinstance(turn, dict) or not isinstance(turn.get("user"), str):
        row.problem(f"turn {number} has no text 'user'", f"write {CHAT_FORM}")
        return ChatTurn("", "", labelled=False, intents=(), references=())
    found = [_reference(row, ref, turn["user"], number) for ref in _refs(row, turn, number)]
    return ChatTurn(
        turn["user"],
        turn.get("assistant") or "",
        labelled=bool(turn.get("labelled")),
        intents=_intents(row, turn, number),
        references=tuple(one for one in found if one is not None),
    )


def _intents(row: Row, turn: dict[str, Any], number: int) -> tuple[str, ...]:
    given = turn.get("intents") or []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        row.problem(f"turn {number}: 'intents' must be names", 'write "intents": ["EXECUTE"]')
        return ()
    return tuple(given)


def _refs(row: Row, turn: dict[str, Any], number: int) -> list[object]:
    given = turn.get("refs") or []
    if isinstance(given, list):
        return given
    row.problem(f"turn {number}: 'refs' must be a list", f'write "refs": [{_REF_FORM}]')
    return []


def _reference(row: Row, ref: object, message: str, number: int) -> ChatReference | None:
    try:
        found = _Ref.model_validate(ref)
    except ValidationError:
        row.problem(f"turn {number}: a reference is not of the form", f"write {_REF_FORM}")
        return None
    start = _nth(message, found.text, found.nth) if found.text else -1
    return ChatReference(
        found.text, start, found.kind, tuple(found.antecedents), found.source, found.must
    )


class _Ref(BaseModel):
    text: str
    kind: Kind
    antecedents: list[str]
    source: Source
    nth: int = 1
    must: bool = False


def _nth(message: str, text: str, nth: int) -> int:
    at = -1
    for _ in range(nth):
        at = message.find(text, at + 1)
        if at < 0:
            break
    return at
