"""Reads files of examples: YAML, JSON, or JSON lines; every problem of a file at once."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from kds.brain.errors import ConfigError, ExampleFileError, MessageError, Problem
from kds.brain.message import clean_message, well_formed
from kds.brain.yaml_files import Document, parse_yaml, validate

SHOWN_PROBLEMS: Final = 50
"""Problems that an error names: a table given by mistake would fill the screen."""

Row = Mapping[str, object]
"""A line of JSON."""


class Placed(BaseModel):
    """A part of a file that knows its place."""

    _where: str = PrivateAttr(default="")

    @property
    def where(self) -> str:
        """The place, "path:line"."""
        return self._where

    def placed(self, where: str) -> Self:
        """Set the place; returns the part itself."""
        self._where = where
        return self


class Strict(Placed):
    """A part of a file that people write: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Loose(Placed):
    """A part of a file that programs write: unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


ModelT = TypeVar("ModelT", bound=BaseModel)
RowT = TypeVar("RowT", bound=Loose)


def listed(value: Any) -> Any:
    """Make a tuple of a list, or of a single value; of None an empty one."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return () if value is None else (value,)


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
Texts = Annotated[tuple[Text, ...], BeforeValidator(listed)]
"""Texts; in the file a single one may stand for a list of one."""
AnyOf = Annotated[tuple[Said, ...], BeforeValidator(listed), Field(min_length=1)]
"""The same for messages, one at least."""


def text_of(path: Path, error: type[ConfigError] = ExampleFileError) -> str:
    """Return the text of a file of any size. Raises ``error``."""
    try:
        return (raw := path.read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = raw.count(b"\n", 0, wrong.start) + 1
        problem = Problem(f"{path}:{line}", "the line is not UTF-8", "save the file as UTF-8")
    except OSError as wrong:
        message = f"cannot be read: {wrong.strerror or wrong}"
        problem = Problem(str(path), message, "check the path and its permissions")
    raise error([problem])


def parse_json(text: str, path: Path, form: str, error: type[ConfigError], line: int = 0) -> object:
    """Parse JSON, of a file or of one ``line``; hints show ``form``. Raises ``error``."""
    what = "the line is" if line else "is"
    try:
        return json.loads(text)
    except json.JSONDecodeError as wrong:
        where = f"{path}:{line or wrong.lineno}"
        message = f"{what} not JSON: {wrong.msg}, column {wrong.colno}"
    except RecursionError:
        where, message = f"{path}:{line}" if line else str(path), f"{what} nested too deeply"
    raise error([Problem(where, message, f"write {form}")])


def read_yaml(path: Path, model: type[ModelT]) -> tuple[ModelT, Document]:
    """Read a YAML file as ``model``; also its places. Raises ExampleFileError."""
    document = parse_yaml(text_of(path), path=str(path))
    found = document.problems or validate(document, model)
    if isinstance(found, tuple):
        raise ExampleFileError(found)
    return found, document


def fitted(data: object, path: Path, model: type[ModelT], form: str, line: int = 1) -> ModelT:
    """Return parsed JSON as ``model`` reads it. Raises ExampleFileError with every problem."""
    found = validate(Document(str(path), data, {(): line}), model)
    if isinstance(found, tuple):  # its hints are for YAML, but for those that suggest a key
        hinted = (one if one.hint.endswith("?") else replace(one, hint=f"write {form}")
                  for one in found)  # fmt: skip
        raise ExampleFileError([*hinted][:SHOWN_PROBLEMS])
    return found


def read_rows(path: Path, model: type[RowT], *, form: str) -> tuple[RowT, ...]:
    """Read the rows of a JSON-lines file; blank lines are skipped.

    ``form`` is an example of a row, for hints. Raises ExampleFileError.
    """
    problems: list[Problem] = []
    rows: list[RowT] = []
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data = parse_json(line, path, form, ExampleFileError, number)
            if isinstance(data, dict):
                rows.append(fitted(data, path, model, form, number).placed(where))
            else:
                problems.append(Problem(where, "the line must be an object", f"write {form}"))
        except ExampleFileError as error:
            problems += error.problems
    if not rows and not problems:
        problems.append(Problem(str(path), "holds no examples", f"write one a line: {form}"))
    if problems:
        raise ExampleFileError(problems[:SHOWN_PROBLEMS])
    return tuple(rows)
