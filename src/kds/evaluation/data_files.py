"""What files of examples have in common: their text, their JSON, and how texts stand in them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from kds.brain.errors import Problem
from kds.brain.message import well_formed

SHOWN_PROBLEMS: Final = 50
"""Problems that an error names; a table given by mistake would fill the screen otherwise."""


class Strict(BaseModel):
    """A part of a file that people write: a key that is not known is a fault."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Loose(BaseModel):
    """A part of a file that programs write: keys that are not named are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def listed(value: Any) -> Any:
    """A single value as the list of one that it stands for."""
    return value if isinstance(value, list) or value is None else [value]


def _encodable(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value


def filled(text: str) -> str:
    """A text that says something, for a model. Raises ValueError for any other."""
    if not text.strip():
        raise ValueError("must not be empty")
    return text


AnyText = Annotated[str, BeforeValidator(_encodable)]
Text = Annotated[AnyText, AfterValidator(filled)]


def read_file(path: Path) -> str | Problem:
    """The text of a file of any size, or why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message, hint = f"is not UTF-8 (byte {error.start})", "save the file as UTF-8"
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        hint = "check the path and its permissions"
    return Problem(str(path), message, hint)


def parse_json(text: str, path: Path, *, form: str) -> object | Problem:
    """The data of a JSON text, or why it is none; ``form`` shows what it would look like."""
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg}, column {error.colno}"
        return Problem(f"{path}:{error.lineno}", message, f"write {form}")
    except RecursionError:
        return Problem(str(path), "is nested too deeply", f"write {form}")
    return data


def in_json(problems: Iterable[Problem], form: str) -> tuple[Problem, ...]:
    """Problems of JSON, whose fix is what it would look like, unless it is a name beside."""
    return tuple(
        one if one.hint.endswith("?") else replace(one, hint=f"write {form}") for one in problems
    )


def shown(problems: Sequence[Problem], path: Path) -> list[Problem]:
    """The first of many problems, and how many more there are."""
    if (more := len(problems) - SHOWN_PROBLEMS) <= 0:
        return [*problems]
    hint = "mend those above first; is it a file of another kind?"
    return [*problems[:SHOWN_PROBLEMS], Problem(str(path), f"{more} more problems", hint)]
