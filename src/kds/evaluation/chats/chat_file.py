"""Chat files: real conversations with coding assistants, turn by turn, with what refers back.

docs/evaluation.md has the form and the label guide. A reference is an expression that points
outside its message, to something said or done before.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from kds.evaluation.data_files import AnyText, Loose
from kds.evaluation.example_rows import Said, read_rows

Kind = Literal["pronoun", "demonstrative", "definite", "one", "ellipsis", "other"]
Source = Literal["user", "assistant", "none"]

CHAT_FORM: Final = (
    '{"id": "a", "turns": [{"user": "Add a FAB button", "assistant": "Done.", "labelled": true, '
    '"intents": ["EXECUTE"], "refs": []}]}'
)
"""What a row looks like, for hints."""


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


class _Ref(Loose):
    text: AnyText
    kind: Kind
    antecedents: list[AnyText]
    source: Source
    nth: int = 1
    must: bool = False


class _Turn(Loose):
    user: AnyText
    assistant: AnyText | None = None
    labelled: bool | None = False
    intents: list[AnyText] | None = None
    refs: list[_Ref] | None = None


class _Chat(Loose):
    id: Said
    repo: AnyText | None = None
    turns: list[_Turn] = Field(min_length=1)


def read_chats(path: Path) -> tuple[Chat, ...]:
    """Read a chat file, JSON lines. Raises ExampleFileError with everything wrong in it."""
    return tuple(
        Chat(row.id, row.repo or "", tuple(map(_turn, row.turns)))
        for row, _ in read_rows(path, _Chat, form=CHAT_FORM)
    )


def _turn(turn: _Turn) -> ChatTurn:
    return ChatTurn(
        turn.user,
        turn.assistant or "",
        labelled=bool(turn.labelled),
        intents=tuple(turn.intents or ()),
        references=tuple(_reference(ref, turn.user) for ref in turn.refs or ()),
    )


def _reference(ref: _Ref, message: str) -> ChatReference:
    start = _nth(message, ref.text, ref.nth) if ref.text else -1
    return ChatReference(ref.text, start, ref.kind, tuple(ref.antecedents), ref.source, ref.must)


def _nth(message: str, text: str, nth: int) -> int:
    at = -1
    for _ in range(nth):
        at = message.find(text, at + 1)
        if at < 0:
            break
    return at
