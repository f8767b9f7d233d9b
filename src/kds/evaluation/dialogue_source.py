"""The text of a dialogue file as data, and the line where each part of it stands."""

import json
from pathlib import Path

from kds.brain.document import Document, parse_yaml
from kds.brain.errors import DialogueFileError, Problem


def load(text: str, path: Path) -> Document:
    """Parse ``text``: JSON when ``path`` ends so, else YAML. Raises DialogueFileError.

    >>> load("- id: a\\n  turns: []", Path("x.yaml")).where((0, "turns"))
    'x.yaml:2'
    """
    document = parse_yaml(text, path=str(path))
    if path.suffix.lower() == ".json":
        # Only the lines of the YAML reading are kept: JSON is the judge of its own values.
        return Document(str(path), _load_json(text, path), document.lines)
    if document.problems:
        raise DialogueFileError(document.problems)
    return document


def read_text(path: Path) -> str:
    """Return the text of the file at ``path``; DialogueFileError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        reason, hint = f"is not UTF-8 (byte {error.start})", "save the file as UTF-8"
        raise _refusal(str(path), reason, hint) from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise _refusal(str(path), reason, "check the path and its permissions") from error


def _load_json(text: str, path: Path) -> object:
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as error:
        where, hint = f"{path}:{error.lineno}", f"look at column {error.colno}"
        raise _refusal(where, f"is not JSON: {error.msg}", hint) from error
    except RecursionError as error:
        raise _refusal(
            str(path), "is nested too deeply", "keep to dialogues, turns, keys"
        ) from error
    return data


def _refusal(where: str, message: str, hint: str) -> DialogueFileError:
    return DialogueFileError([Problem(where, message, hint)])
