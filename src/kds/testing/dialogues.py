"""Dialogue files: conversations with the outcome you expect, as YAML or JSON.

One format for `kds test`, `kds eval dialogues` and the pytest plugin. A single value stands for a
list of one; a list means "any of these".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, RootModel

from kds.brain.errors import DialogueFileError, Problem
from kds.brain.yaml_files import Document, NodePath, parse_yaml, validate
from kds.testing.example_files import Strict, Text, listed, parse_json, read_file

SUFFIXES: Final = (".yaml", ".yml", ".json")
MARKED_SUFFIXES: Final = tuple(f".dialogue{suffix}" for suffix in SUFFIXES)
"""A file with such a name is a dialogue file in any folder."""
FOLDER: Final = "dialogues"
"""Every YAML file below a folder of this name is a dialogue file."""

_EXAMPLE: Final = "{id: fab-button, turns: [{user: I want to add a FAB button, intent: PLAN}]}"


@dataclass(frozen=True, slots=True)
class ExpectedTurn:
    """A message, and the outcomes that count as right. An empty tuple checks nothing.

    The exception is ``expanded``: empty, the message must come back unchanged. ``secondary`` is
    None when the secondary intents do not matter; ``reply`` is the assistant's, "" when unknown.
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


_AnyOf = Annotated[list[Text] | None, BeforeValidator(listed)]


class _Turn(Strict):
    user: Text
    intent: _AnyOf = None
    context_ref: _AnyOf = None
    expanded: _AnyOf = None
    switch: bool | None = None
    secondary: _AnyOf = None
    reply: Text = ""
    note: Any = None


class _Dialogue(Strict):
    id: Text
    turns: Annotated[list[_Turn], Field(min_length=1)]
    note: Any = None


_File = RootModel[list[_Dialogue]]

DIALOGUE_KEYS: Final = tuple(_Dialogue.model_fields)
TURN_KEYS: Final = tuple(_Turn.model_fields)


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
    """List the dialogue files of ``paths``: files as named, folders searched.

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
    text = read_file(path)
    if isinstance(text, Problem):
        raise DialogueFileError([text])
    return parse_dialogues(text, path)


def parse_dialogues(text: str, path: Path) -> tuple[Dialogue, ...]:
    """Parse the text of a dialogue file; the suffix of ``path`` tells JSON from YAML.

    Raises DialogueFileError with every problem of the text.

    >>> parse_dialogues("[{id: a, turns: [{user: Hi, intent: ASK}]}]", Path("a.yaml"))[0].id
    'a'
    """
    document = _document(text, path)
    alone = isinstance(document.data, dict)
    if not alone and not (isinstance(document.data, list) and document.data):
        message = "no dialogues: a list of them is expected"
        raise DialogueFileError([Problem(document.where(), message, f"write - {_EXAMPLE}")])
    found: _Dialogue | _File | tuple[Problem, ...]
    found = validate(document, _Dialogue) if alone else validate(document, _File)
    problems = [*(found if isinstance(found, tuple) else ()), *_repeated(document)]
    if problems or isinstance(found, tuple):
        raise DialogueFileError(problems)
    if isinstance(found, _Dialogue):
        return (_dialogue(found, document, ()),)
    return tuple(_dialogue(one, document, (index,)) for index, one in enumerate(found.root))


def _document(text: str, path: Path) -> Document:
    document = parse_yaml(text, path=str(path))
    if path.suffix.lower() == ".json":
        # Of the YAML reading only the line numbers are kept; JSON decides the values.
        data = parse_json(text, path, form=f"[{_EXAMPLE}]")
        document = Document(str(path), data, document.lines)
        if isinstance(data, Problem):
            raise DialogueFileError([data])
    if document.problems:
        raise DialogueFileError(document.problems)
    return document


def _repeated(document: Document) -> Iterator[Problem]:
    first: dict[object, str] = {}
    for index, one in enumerate(document.data if isinstance(document.data, list) else ()):
        name = one.get("id") if isinstance(one, dict) else None
        if not isinstance(name, str):
            continue
        if name in first:
            message = f"id '{name}' is already used at {first[name]}"
            where = document.where((index, "id"))
            yield Problem(where, message, "give every dialogue an id of its own")
        first.setdefault(name, document.where((index,)))


def _dialogue(one: _Dialogue, document: Document, at: NodePath) -> Dialogue:
    turns = (
        _expected(turn, document.where((*at, "turns", number)))
        for number, turn in enumerate(one.turns)
    )
    return Dialogue(one.id, tuple(turns), document.where(at))


def _expected(turn: _Turn, where: str) -> ExpectedTurn:
    return ExpectedTurn(
        user=turn.user,
        where=where,
        intents=_intents(turn.intent),
        context_refs=tuple(turn.context_ref or ()),
        expanded=tuple(turn.expanded or ()),
        switch=turn.switch is True,
        secondary=None if turn.secondary is None else _intents(turn.secondary),
        reply=turn.reply,
    )


def _intents(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name.strip().upper() for name in names or ())
