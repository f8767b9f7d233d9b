"""Dialogue files: conversations with the outcome you expect, as YAML or JSON.

One format for `kds test`, `kds eval dialogues` and the pytest plugin. A single value stands for a
list of one; a list means "any of these".
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, RootModel

from kds.brain.errors import DialogueFileError, Problem
from kds.brain.yaml_files import Document, NodePath, parse_yaml, validate
from kds.testing.example_files import Strict, Text, Texts, parse_json, text_of

SUFFIXES: Final = (".yaml", ".yml", ".json")
MARKED_SUFFIXES: Final = tuple(f".dialogue{suffix}" for suffix in SUFFIXES)
"""A file with such a name is a dialogue file in any folder."""
FOLDER: Final = "dialogues"
"""Every YAML file below a folder of this name is a dialogue file."""

_EXAMPLE: Final = "{id: fab-button, turns: [{user: I want to add a FAB button, intent: PLAN}]}"


def _upper(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name.strip().upper() for name in names)


_Intents = Annotated[Texts, AfterValidator(_upper)]


class ExpectedTurn(Strict):
    """A message, and the outcomes that count as right. An empty tuple checks nothing.

    The exception is ``expanded``: empty, the message must come back unchanged. ``secondary`` is
    None when the secondary intents do not matter; ``reply`` is the assistant's, "" when unknown.
    """

    user: Text
    intents: _Intents = Field((), alias="intent")
    context_refs: Texts = Field((), alias="context_ref")
    expanded: Texts = ()
    switch: Annotated[bool, BeforeValidator(lambda value: value or False)] = False
    secondary: _Intents | None = None
    reply: Text = ""
    note: Any = None


class Dialogue(Strict):
    """A conversation that starts with an empty context."""

    id: Text
    turns: list[ExpectedTurn] = Field(min_length=1)
    note: Any = None


DIALOGUE_KEYS: Final = tuple(Dialogue.model_fields)
TURN_KEYS: Final = tuple(one.alias or name for name, one in ExpectedTurn.model_fields.items())


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
    return parse_dialogues(text_of(path, DialogueFileError), path)


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
    found = validate(document, Dialogue) if alone else validate(document, RootModel[list[Dialogue]])
    problems = [*(found if isinstance(found, tuple) else ()), *_repeated(document)]
    if problems or isinstance(found, tuple):
        raise DialogueFileError(problems)
    if isinstance(found, Dialogue):
        return (_placed(found, document, ()),)
    return tuple(_placed(one, document, (index,)) for index, one in enumerate(found.root))


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


def _placed(dialogue: Dialogue, document: Document, at: NodePath) -> Dialogue:
    for number, turn in enumerate(dialogue.turns):
        turn.placed(document.where((*at, "turns", number)))
    return dialogue.placed(document.where(at))
