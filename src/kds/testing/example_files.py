"""Reads files of examples: YAML, JSON, or JSON lines; every problem of a file at once."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.errors import ExampleFileError, MessageError, Problem
from kds.brain.message import clean_message, well_formed
from kds.brain.yaml_files import Document, validate

SHOWN_PROBLEMS: Final = 50
"""Problems that an error names: a table given by mistake would fill the screen."""


class Strict(BaseModel):
    """A part of a file that people write: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Loose(BaseModel):
    """A part of a file that programs write: unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


RowT = TypeVar("RowT", bound=Loose)


def listed(value: Any) -> Any:
    """Wrap a single value in a list; leave lists and None."""
    return value if isinstance(value, list) or value is None else [value]


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _encodable(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value


def _cleaned(value: Any) -> Any:
    """A text as the router would take it from a user; empty when nothing is left of it."""
    try:
        return clean_message(value) if isinstance(value, str) else value
    except MessageError:
        return ""


AnyText = Annotated[str, BeforeValidator(_encodable)]
Text = Annotated[AnyText, AfterValidator(_filled)]
CleanText = Annotated[str, BeforeValidator(_cleaned)]
Said = Annotated[CleanText, AfterValidator(_filled)]
AnyOf = Annotated[list[Said], BeforeValidator(listed), Field(min_length=1)]
"""Texts, or a single one for a list of one."""


def read_file(path: Path) -> str | Problem:
    """Return the text of a file of any size, or why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message, hint = f"is not UTF-8 (byte {error.start})", "save the file as UTF-8"
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        hint = "check the path and its permissions"
    return Problem(str(path), message, hint)


def parse_json(text: str, path: Path, *, form: str) -> object | Problem:
    """Parse a JSON text; ``form`` is an example of a valid one, for the hint of a problem."""
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg}, column {error.colno}"
        return Problem(f"{path}:{error.lineno}", message, f"write {form}")
    except RecursionError:
        return Problem(str(path), "is nested too deeply", f"write {form}")
    return data


def in_json(problems: Iterable[Problem], form: str) -> tuple[Problem, ...]:
    """Replace hints written for YAML by ``form``, except those that suggest a key."""
    return tuple(
        one if one.hint.endswith("?") else replace(one, hint=f"write {form}") for one in problems
    )


def shown(problems: Sequence[Problem], path: Path) -> list[Problem]:
    """Return the first problems, and how many more there are."""
    if (more := len(problems) - SHOWN_PROBLEMS) <= 0:
        return [*problems]
    hint = "fix those above first; is this a file of another kind?"
    return [*problems[:SHOWN_PROBLEMS], Problem(str(path), f"{more} more problems", hint)]


def read_rows(
    path: Path, model: type[RowT], *, form: str, limit: int | None = None
) -> tuple[tuple[RowT, str], ...]:
    """Read the rows of a JSON-lines file, or the first ``limit``, each with its "path:line".

    Blank lines are skipped. ``form`` is an example of a row, for hints. Raises ExampleFileError.
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
