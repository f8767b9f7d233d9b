"""The examples that `kds eval` measures on: rewrites, and messages with several intents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from kds.evaluation.example_rows import Row, cleaned, kind, read_rows
from kds.evaluation.intents.data import intent_name
from kds.router.discourse.history import Utterance

REWRITE_FORM: Final = (
    '{"history": [{"role": "user", "content": "Add a FAB button"}], '
    '"query": "Make it purple", "rewrite": ["Make the FAB button purple"]}'
)
MULTI_FORM: Final = '{"text": "Fix the login and run the tests", "intents": ["EXECUTE", "TEST"]}'

_ROLES: Final = ("user", "assistant")


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


def read_rewrites(path: Path, *, limit: int | None = None) -> tuple[RewriteExample, ...]:
    """Read a file of rewrites. Raises ExampleFileError."""
    return read_rows(path, _rewrite, form=REWRITE_FORM, limit=limit)


def read_multi(path: Path) -> tuple[MultiExample, ...]:
    """Read a file of messages with several intents. Raises ExampleFileError."""
    return read_rows(path, _multi, form=MULTI_FORM)


def _rewrite(row: Row) -> RewriteExample:
    return RewriteExample(_history(row), row.text("query"), row.texts("rewrite"), row.where)


def _history(row: Row) -> tuple[Utterance, ...]:
    """What was said before, oldest first; a row without a history is the first message."""
    data = row.data.get("history")
    items = data if isinstance(data, list) else []
    if data is not None and not isinstance(data, list):
        row.problem(f"'history' must be a list, not {kind(data)}", f"as in {REWRITE_FORM}")
    said = (_utterance(row, number, item) for number, item in enumerate(items, start=1))
    return tuple(one for one in said if one is not None)


def _utterance(row: Row, number: int, item: Any) -> Utterance | None:
    name = f"message {number} of 'history'"
    form = '{"role": "user", "content": "..."}'
    if not isinstance(item, dict):
        row.problem(f"{name} must be an object, not {kind(item)}", f"write {form}")
        return None
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        row.problem(f"the role of {name} must be user or assistant", f"write {form}")
    if not isinstance(content, str):
        row.problem(f"the content of {name} must be a text, not {kind(content)}", f"write {form}")
    if role not in _ROLES or not isinstance(content, str):
        return None
    return Utterance(cleaned(content), cast('Literal["user", "assistant"]', role))


def _multi(row: Row) -> MultiExample:
    intents = (intent_name(intent).upper() for intent in row.texts("intents"))
    return MultiExample(row.text("text"), tuple(intents), row.where)
