"""Reads JSONL files of examples: one JSON object a line, every problem of a file at once.

What the objects hold is up to the caller, who makes a value of each with the help of `Row`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from kds.brain.document import nearest
from kds.brain.errors import ExampleFileError, MessageError, Problem
from kds.brain.message import clean_message

SHOWN_PROBLEMS: Final = 50
"""Problems that an error names; a table given by mistake would fill the screen otherwise."""

Value = TypeVar("Value")


class Row:
    """One object of the file. Reading a wrong field notes a problem and gives an empty value."""

    def __init__(self, data: dict[str, Any], where: str, problems: list[Problem]) -> None:
        self.data = data
        self.where = where
        self._problems = problems

    def problem(self, message: str, hint: str) -> None:
        """Note that something in this row is wrong."""
        self._problems.append(Problem(self.where, message, hint))

    def text(self, key: str) -> str:
        """The text under ``key``, cleaned; a problem when it is missing, empty or no text."""
        value = self._value(key)
        if value is not None and not _is_text(value):
            self.problem(f"'{key}' must be a text, not {kind(value)}", f'write "{key}": "..."')
        return cleaned(value) if _is_text(value) else ""

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts under ``key``: a list of them, or a single one, which stands for a list."""
        value = self._value(key)
        items = value if isinstance(value, list) else [] if value is None else [value]
        wrong = [item for item in items if not _is_text(item)]
        if wrong or value == []:
            given = kind(wrong[0]) if wrong else "an empty list"
            self.problem(f"'{key}' must hold texts, not {given}", f'write "{key}": ["..."]')
        return tuple(cleaned(item) for item in items if _is_text(item))

    def _value(self, key: str) -> Any:
        if self.data.get(key) is None:
            near = nearest(key, [name for name in self.data if name != key])
            hint = f"is '{near}' meant?" if near else f'add "{key}"'
            self.problem(f"'{key}' is missing", hint)
            return None
        return self.data[key]


def read_rows(
    path: Path, parse: Callable[[Row], Value], *, form: str, limit: int | None = None
) -> tuple[Value, ...]:
    """Make a value of every row of ``path``, or of the first ``limit`` ones; blank lines are none.

    ``form`` shows what a row looks like, for hints. Raises ExampleFileError.
    """
    problems: list[Problem] = []
    values: list[Value] = []
    for row in _rows(path, problems, form):
        values.append(parse(row))
        if len(values) == limit:
            break
    if problems:
        raise ExampleFileError(_shown(problems, path))
    if not values:
        raise _refusal(path, "holds no examples", f"write one a line: {form}")
    return tuple(values)


def cleaned(text: str) -> str:
    """``text`` as the router would take it from a user; empty when nothing is left of it."""
    try:
        return clean_message(text)
    except MessageError:
        return ""


def kind(value: object) -> str:
    """Name the JSON type of ``value`` for a message.

    >>> kind(3.5), kind([])
    ('a number', 'a list')
    """
    if isinstance(value, str):
        return "a text" if cleaned(value) else "an empty text"
    names: dict[type, str] = {
        dict: "an object", list: "a list", bool: "true/false",
        int: "a number", float: "a number", type(None): "null",
    }  # fmt: skip
    return names[type(value)]


def _rows(path: Path, problems: list[Problem], form: str) -> Iterator[Row]:
    for number, raw in enumerate(_content(path).splitlines(), start=1):
        if not raw.strip():
            continue
        where = f"{path}:{number}"
        try:
            data = json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            reason, hint = f"is not UTF-8 (byte {error.start} of the line)", "save it as UTF-8"
        except json.JSONDecodeError as error:
            reason, hint = f"is not JSON: {error.msg}, column {error.colno}", f"write {form}"
        except RecursionError:
            reason, hint = "is nested too deeply", f"write {form}"
        else:
            if isinstance(data, dict):
                yield Row(data, where, problems)
                continue
            reason, hint = f"must be an object, not {kind(data)}", f"write {form}"
        problems.append(Problem(where, f"the line {reason}", hint))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise _refusal(path, reason, "check the path and its permissions") from error


def _shown(problems: list[Problem], path: Path) -> list[Problem]:
    if (more := len(problems) - SHOWN_PROBLEMS) <= 0:
        return problems
    hint = "mend the lines above first; is it a file of another kind?"
    return [*problems[:SHOWN_PROBLEMS], Problem(str(path), f"{more} more problems", hint)]


def _refusal(path: Path, message: str, hint: str) -> ExampleFileError:
    return ExampleFileError([Problem(str(path), message, hint)])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(cleaned(value))
