"""The examples that `kds eval` measures on: rewrites, and messages with several intents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kds.brain.turn import Utterance
from kds.evaluation.data_files import Loose
from kds.evaluation.example_rows import AnyOf, CleanText, Said, read_rows
from kds.evaluation.intents.data import intent_name

REWRITE_FORM: Final = (
    '{"history": [{"role": "user", "content": "Add a FAB button"}], '
    '"query": "Make it purple", "rewrite": ["Make the FAB button purple"]}'
)
MULTI_FORM: Final = '{"text": "Fix the login and run the tests", "intents": ["EXECUTE", "TEST"]}'


@dataclass(frozen=True, slots=True)
class RewriteExample:
    """A message after a history, and the self-contained forms that count as right."""

    history: tuple[Utterance, ...]
    query: str
    rewrites: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class MultiExample:
    """A message and its intents, in the order of its requests."""

    text: str
    intents: tuple[str, ...]
    where: str


class _Message(Loose):
    role: Literal["user", "assistant"]
    content: CleanText


class _Rewrite(Loose):
    history: list[_Message] | None = None
    """What was said before, oldest first; a row without it is the first message."""
    query: Said
    rewrite: AnyOf


class _Multi(Loose):
    text: Said
    intents: AnyOf


def read_rewrites(path: Path, *, limit: int | None = None) -> tuple[RewriteExample, ...]:
    """Read a file of rewrites. Raises ExampleFileError."""
    return tuple(
        RewriteExample(
            tuple(Utterance(said.content, said.role) for said in row.history or ()),
            row.query,
            tuple(row.rewrite),
            where,
        )
        for row, where in read_rows(path, _Rewrite, form=REWRITE_FORM, limit=limit)
    )


def read_multi(path: Path) -> tuple[MultiExample, ...]:
    """Read a file of messages with several intents. Raises ExampleFileError."""
    return tuple(
        MultiExample(row.text, tuple(intent_name(one).upper() for one in row.intents), where)
        for row, where in read_rows(path, _Multi, form=MULTI_FORM)
    )
