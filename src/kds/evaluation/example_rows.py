"""Reads JSONL files of examples: one JSON object a line, every problem of a file at once.

What the objects hold is up to the caller, whose model says it.
"""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from kds.brain.document import Document, validate
from kds.brain.errors import ExampleFileError, MessageError, Problem
from kds.brain.message import clean_message
from kds.evaluation.data_files import Loose, filled, in_json, listed, parse_json, shown

RowT = TypeVar("RowT", bound=Loose)


def _cleaned(value: Any) -> Any:
    """A text as the router would take it from a user; empty when nothing is left of it."""
    try:
        return clean_message(value) if isinstance(value, str) else value
    except MessageError:
        return ""


CleanText = Annotated[str, BeforeValidator(_cleaned)]
Said = Annotated[CleanText, AfterValidator(filled)]
AnyOf = Annotated[list[Said], BeforeValidator(listed), Field(min_length=1)]
"""Texts, or a single one, which stands for a list."""


def read_rows(
    path: Path, model: type[RowT], *, form: str, limit: int | None = None
) -> tuple[tuple[RowT, str], ...]:
    """Fit every row of ``path``, or the first ``limit`` ones, to a model; with "path:line" of each.

    Blank lines are none. ``form`` shows what a row looks like, for hints. Raises ExampleFileError.
    """
    problems: list[Problem] = []
    rows: list[tuple[RowT, str]] = []
    for number, raw in enumerate(_content(path).splitlines(), start=1):
        if len(rows) == limit:
            break
        if raw.strip():
            found = _row(raw, path, number, model, form)
            if isinstance(found, tuple):
                problems += found
            else:
                rows.append((found, f"{path}:{number}"))
    if not rows and not problems:
        problems.append(Problem(str(path), "holds no examples", f"write one a line: {form}"))
    if problems:
        raise ExampleFileError(shown(problems, path))
    return tuple(rows)


def _row(
    raw: bytes, path: Path, number: int, model: type[RowT], form: str
) -> RowT | tuple[Problem, ...]:
    where = f"{path}:{number}"
    try:
        data = parse_json(raw.decode("utf-8"), path, form=form)
    except UnicodeDecodeError as error:
        message = f"the line is not UTF-8 (byte {error.start} of it)"
        return (Problem(where, message, "save it as UTF-8"),)
    if isinstance(data, Problem):
        return (Problem(where, f"the line {data.message}", data.hint),)
    if not isinstance(data, dict):
        return (Problem(where, "the line must be an object", f"write {form}"),)
    found = validate(Document(str(path), data, {(): number}), model)
    return in_json(found, form) if isinstance(found, tuple) else found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        hint = "check the path and its permissions"
        raise ExampleFileError([Problem(str(path), reason, hint)]) from error
