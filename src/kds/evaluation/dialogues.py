"""Dialogue files: conversations with the outcome you expect, as JSON or YAML (DESIGN 8).

One format for `kds test`, `kds eval dialogues` and the pytest plugin. A scalar stands for a
list of one; a list means "any of these". Every problem of a file is reported at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kds.brain.document import Document, NodePath, nearest, parse_yaml
from kds.brain.errors import DialogueFileError, Problem

DIALOGUE_KEYS: Final = ("id", "turns", "note")
TURN_KEYS: Final = (
    "user",
    "intent",
    "context_ref",
    "expanded",
    "switch",
    "secondary",
    "reply",
    "note",
)
SUFFIXES: Final = (".yaml", ".yml", ".json")
MARKED_SUFFIXES: Final = tuple(f".dialogue{suffix}" for suffix in SUFFIXES)
"""A file with such a name is a dialogue file wherever it lies."""
FOLDER: Final = "dialogues"
"""Every YAML file below a folder of this name is a dialogue file."""

_EXAMPLE: Final = "{id: fab-button, turns: [{user: I want to add a FAB button, intent: PLAN}]}"


@dataclass(frozen=True, slots=True)
class ExpectedTurn:
    """One message, and the outcomes that count as right. An empty tuple checks nothing.

    The exception is ``expanded``: when it is empty, the message must come back unchanged.
    ``secondary`` is None when the secondary intents do not matter. ``reply`` is what the assistant
    answered; "" when the dialogue does not say.
    """

    user: str
    where: str
    intents: tuple[str, ...] = ()
    context_refs: tuple[str, ...] = ()
    expanded: tuple[str, ...] = ()
    switch: bool = False
    secondary: tuple[str, ...] | None = None
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation that starts with an empty context. ``where`` is ``path:line``."""

    id: str
    turns: tuple[ExpectedTurn, ...]
    where: str


def is_dialogue_file(path: Path, root: Path | None = None) -> bool:
    """Tell by its name whether ``path`` holds dialogues; only folders below ``root`` count.

    >>> is_dialogue_file(Path("tests/dialogues/fab.yaml")), is_dialogue_file(Path("ci.yaml"))
    (True, False)
    >>> is_dialogue_file(Path("specs/fab.dialogue.json"))
    True
    """
    name = path.name.lower()
    if name.endswith(MARKED_SUFFIXES):
        return True
    inside = path.relative_to(root) if root and path.is_relative_to(root) else path
    return name.endswith((".yaml", ".yml")) and FOLDER in inside.parts[:-1]


def find_dialogue_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """List the dialogue files behind ``paths``: files as named, folders searched.

    Raises DialogueFileError when a path does not exist or a folder holds none.
    """
    found: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        inside = _inside(path)
        found += inside
        if not path.exists():
            problems.append(Problem(str(path), "no such file or folder", "check the path"))
        elif not inside:
            hint = f"name one X.dialogue.yaml, or put it in a folder called {FOLDER}"
            problems.append(Problem(str(path), "no dialogue file in this folder", hint))
    if problems:
        raise DialogueFileError(problems)
    return tuple(dict.fromkeys(found))


def _inside(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # The folder itself may be the one called "dialogues", hence the absolute parent.
    root = path.resolve().parent
    files = (file for file in path.rglob("*") if file.is_file())
    return sorted(file for file in files if is_dialogue_file(file.resolve(), root))


def read_dialogues(path: Path) -> tuple[Dialogue, ...]:
    """Read one dialogue file: a list of dialogues, or a single one.

    Raises DialogueFileError with every problem of the file.
    """
    return parse_dialogues(read_text(path), path)


def parse_dialogues(text: str, path: Path) -> tuple[Dialogue, ...]:
    """Parse the text of a dialogue file; ``path`` names it, and its suffix tells JSON from YAML.

    Raises DialogueFileError with every problem of the text.

    >>> parse_dialogues("[{id: a, turns: [{user: Hi, intent: ASK}]}]", Path("a.yaml"))[0].id
    'a'
    """
    reader = _Reader(load(text, path))
    dialogues = reader.file()
    if reader.problems:
        raise DialogueFileError(reader.problems)
    return dialogues


class _Reader:
    """Turns parsed data into dialogues and gathers the problems on the way."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def problem(self, spot: NodePath, message: str, hint: str) -> None:
        self.problems.append(Problem(self.document.where(spot), message, hint))

    def file(self) -> tuple[Dialogue, ...]:
        data = self.document.data
        if isinstance(data, dict):
            return (self.dialogue((), data),)
        if not isinstance(data, list) or not data:
            self.problem((), "no dialogues: a list of them is expected", f"write - {_EXAMPLE}")
            return ()
        dialogues = tuple(self.dialogue((index,), item) for index, item in enumerate(data))
        first: dict[str, str] = {}
        for index, dialogue in enumerate(dialogues):
            if dialogue.id in first:
                message = f"id '{dialogue.id}' is already used at {first[dialogue.id]}"
                self.problem((index, "id"), message, "give every dialogue an id of its own")
            elif dialogue.id:
                first[dialogue.id] = dialogue.where
        return dialogues

    def dialogue(self, spot: NodePath, data: Any) -> Dialogue:
        where = self.document.where(spot)
        if not self.mapping(spot, data, "dialogue", DIALOGUE_KEYS):
            return Dialogue("", (), where)
        turns = data.get("turns")
        if not isinstance(turns, list) or not turns:
            self.problem((*spot, "turns"), "a dialogue needs a list of turns", f"as in {_EXAMPLE}")
            turns = []
        read = (self.turn((*spot, "turns", index), turn) for index, turn in enumerate(turns))
        return Dialogue(self.text(spot, data, "id"), tuple(read), where)

    def turn(self, spot: NodePath, data: Any) -> ExpectedTurn:
        where = self.document.where(spot)
        if not self.mapping(spot, data, "turn", TURN_KEYS):
            return ExpectedTurn("", where)
        secondary = self.intents(spot, data, "secondary")
        return ExpectedTurn(
            user=self.text(spot, data, "user"),
            where=where,
            intents=self.intents(spot, data, "intent"),
            context_refs=self.texts(spot, data, "context_ref"),
            expanded=self.texts(spot, data, "expanded"),
            switch=self.flag(spot, data, "switch"),
            secondary=secondary if data.get("secondary") is not None else None,
            reply=self.text(spot, data, "reply") if "reply" in data else "",
        )

    def mapping(self, spot: NodePath, data: Any, noun: str, known: Sequence[str]) -> bool:
        if not isinstance(data, dict):
            message = f"a {noun} must be a mapping, not {_kind(data)}"
            self.problem(spot, message, f"its keys are {', '.join(known)}")
            return False
        for key in data:
            if key not in known:
                near = nearest(str(key), list(known))
                hint = f"did you mean '{near}'?" if near else f"keys are {', '.join(known)}"
                self.problem((*spot, str(key)), f"unknown key '{key}' in a {noun}", hint)
        return True

    def text(self, spot: NodePath, data: Mapping[str, Any], key: str) -> str:
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value
        message = f"'{key}' is missing or empty" if value in (None, "") else _not_text(key, value)
        self.problem((*spot, key), message, f'write {key}: "..."')
        return ""

    def texts(self, spot: NodePath, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = data.get(key)
        items = value if isinstance(value, list) else [] if value is None else [value]
        for item in items:
            if not isinstance(item, str) or not item.strip():
                self.problem((*spot, key), _not_text(key, item), f'write {key}: "..." or a list')
        return tuple(item for item in items if isinstance(item, str))

    def intents(self, spot: NodePath, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
        return tuple(item.strip().upper() for item in self.texts(spot, data, key))

    def flag(self, spot: NodePath, data: Mapping[str, Any], key: str) -> bool:
        value = data.get(key)
        if value is not None and not isinstance(value, bool):
            self.problem((*spot, key), f"'{key}' must be true or false", f"write {key}: true")
        return value is True


def _not_text(key: str, value: object) -> str:
    given = "an empty one" if isinstance(value, str) else _kind(value)
    return f"'{key}' must be a text, not {given}"


def _kind(value: object) -> str:
    names: dict[type, str] = {
        dict: "a mapping", list: "a list", str: "a text", bool: "true/false",
        int: "a number", float: "a number", type(None): "nothing",
    }  # fmt: skip
    return names.get(type(value), f"a {type(value).__name__}")


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
