"""Dialogue files: conversations with the outcome you expect; played, compared and scored.

One format (YAML or JSON) for `kds test`, `kds eval dialogues` and the pytest plugin. A single
value stands for a list of one; a list means "any of these". Each dialogue starts with an empty
context and a clock that moves one minute a turn; nothing is written to the workspace.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import AfterValidator, BeforeValidator, Field, RootModel

from kds.api.measures import Figures, percentile, share, timed
from kds.api.rehearsal import MinuteClock, bare, matches
from kds.brain.clock import Clock
from kds.brain.errors import DialogueFileError, Problem
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.brain.yaml_files import Document, parse_yaml, validate
from kds.testing.example_files import Row, Strict, Text, Texts, parse_json, text_of

FOLDER: Final = "dialogues"
"""Every YAML file below a folder of this name is a dialogue file."""

_EXAMPLE: Final = "{id: fab-button, turns: [{user: I want to add a FAB button, intent: PLAN}]}"
_YES_NO: Final = ("no", "yes")
_ARTICLE: Final = re.compile(r"^\s*(?:an?|the)\s+", re.IGNORECASE)


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
    if name.endswith((".dialogue.yaml", ".dialogue.yml", ".dialogue.json")):
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
    document = parse_yaml(text, path=str(path))
    if path.suffix.lower() == ".json":
        # Of the YAML reading only the line numbers are kept; JSON decides the values.
        data = parse_json(text, path, f"[{_EXAMPLE}]", DialogueFileError)
        document = Document(str(path), data, document.lines)
    if document.problems:
        raise DialogueFileError(document.problems)
    data, lines = document.data, document.lines
    if isinstance(data, dict):  # a single one
        data, lines = [data], {(): 1} | {(0, *at): line for at, line in lines.items()}
    document = Document(str(path), data, lines)
    if not (isinstance(data, list) and data):
        message = "no dialogues: a list of them is expected"
        raise DialogueFileError([Problem(document.where(), message, f"write - {_EXAMPLE}")])
    found = validate(document, RootModel[list[Dialogue]])
    problems = [*(found if isinstance(found, tuple) else ()), *_repeated(data, document)]
    if problems or isinstance(found, tuple):
        raise DialogueFileError(problems)
    for index, one in enumerate(found.root):
        one.placed(document.where((index,)))
        for number, turn in enumerate(one.turns):
            turn.placed(document.where((index, "turns", number)))
    return tuple(found.root)


def _repeated(data: Sequence[object], document: Document) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for index, one in enumerate(data):
        name = one.get("id") if isinstance(one, dict) else None
        if isinstance(name, str) and name in first:
            message = f"id '{name}' is already used at {first[name]}"
            where = document.where((index, "id"))
            yield Problem(where, message, "give every dialogue an id of its own")
        elif isinstance(name, str):
            first[name] = document.where((index,))


class Route(Protocol):
    """Routes a message, with what was said before it; a `Router` is one."""

    def __call__(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        """Route ``message``."""


@dataclass(frozen=True, slots=True)
class Check:
    """One field of a turn: what is expected and what it is. ``met`` None: nothing is expected."""

    field: str
    met: bool | None
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """An expected turn, the actual one, how they compare, and the CPU time in milliseconds."""

    expected: ExpectedTurn
    turn: Turn
    checks: tuple[Check, ...]
    cpu_ms: float

    @property
    def mismatches(self) -> tuple[Check, ...]:
        """The fields that came out wrong."""
        return tuple(one for one in self.checks if one.met is False)


@dataclass(frozen=True, slots=True)
class PlayedDialogue:
    """A dialogue with every turn played; a wrong turn does not end it."""

    dialogue: Dialogue
    turns: tuple[PlayedTurn, ...]

    @property
    def passed(self) -> bool:
        """Whether every turn met every expectation."""
        return not any(played.mismatches for played in self.turns)


def play(dialogue: Dialogue, open_route: Callable[[Clock], Route]) -> PlayedDialogue:
    """Send every turn of ``dialogue`` through a fresh conversation.

    ``open_route`` opens one, under the clock it is given. The history is passed along where the
    turn before says what the assistant replied.
    """
    clock = MinuteClock()
    route = open_route(clock)
    said: list[Utterance] = []
    played = []
    for expected in dialogue.turns:
        told = said if said and said[-1].role == "assistant" else ()
        turn, cpu_ms = timed(partial(route, expected.user, history=told))
        played.append(PlayedTurn(expected, turn, judge(expected, turn), cpu_ms))
        said.append(Utterance(expected.user))
        said += [Utterance(expected.reply, "assistant")] if expected.reply else []
        clock.tick()
    return PlayedDialogue(dialogue, tuple(played))


def judge(expected: ExpectedTurn, turn: Turn) -> tuple[Check, ...]:
    """Compare ``turn`` with ``expected``, field by field.

    An expected intent of UNKNOWN is met when the router did not route; references compare like
    expansions, leading articles aside.
    """
    refused = UNKNOWN in expected.intents and turn.action != "route"
    intent = refused or (turn.intent in expected.intents and turn.intent != UNKNOWN)
    accepted = {bare(_ARTICLE.sub("", text)) for text in expected.context_refs}
    ref = turn.context_ref is not None and bare(_ARTICLE.sub("", turn.context_ref)) in accepted
    secondary, also = expected.secondary, turn.secondary_intents
    given = f"{turn.intent} {turn.confidence:.2f}, action {turn.action}"
    unchanged = f"{expected.user} (unchanged)"
    return (
        Check("expanded", matches(turn.expanded, expected.expanded or (expected.user,)),
              " | ".join(expected.expanded) or unchanged, turn.expanded),
        Check("switch", turn.context_switch == expected.switch,
              _YES_NO[expected.switch], _YES_NO[turn.context_switch]),
        Check("intent", intent if expected.intents else None, " | ".join(expected.intents), given),
        Check("context_ref", ref if accepted else None,
              " | ".join(expected.context_refs), turn.context_ref or "none"),
        Check("secondary", None if secondary is None else set(also) == set(secondary),
              ", ".join(secondary or ()) or "none", ", ".join(also) or "none"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Score(Figures):
    """How a set of dialogues came out. Shares lie in [0, 1], and are None when nothing counts.

    ``needed`` turns carry an `expanded`, ``kept`` ones must come back unchanged;
    ``false_rewrites`` is the share of those that were changed. Times are CPU milliseconds.
    """

    dialogues: int
    turns: int
    intent_accuracy: float | None
    needed: int
    expanded_exact: float | None
    context_ref_accuracy: float | None
    kept: int
    false_rewrites: float | None
    switch_accuracy: float | None
    secondary_accuracy: float | None
    ms_p50: float
    ms_p99: float


def score(dialogues: Sequence[PlayedDialogue]) -> Score:
    """Add up what `kds eval dialogues` reports."""
    turns = [played for dialogue in dialogues for played in dialogue.turns]
    rows = [{one.field: one.met for one in played.checks} for played in turns]
    shares = {name: share(row[name] for row in rows) for name in rows[0]} if rows else {}
    changes = [(bool(played.expected.expanded), row["expanded"])
               for played, row in zip(turns, rows, strict=True)]  # fmt: skip
    needed = [met for is_needed, met in changes if is_needed]
    kept = [met for is_needed, met in changes if not is_needed]
    times = [played.cpu_ms for played in turns]
    return Score(
        dialogues=len(dialogues),
        turns=len(turns),
        intent_accuracy=shares.get("intent"),
        needed=len(needed),
        expanded_exact=share(needed),
        context_ref_accuracy=shares.get("context_ref"),
        kept=len(kept),
        false_rewrites=share(not unchanged for unchanged in kept),
        switch_accuracy=shares.get("switch"),
        secondary_accuracy=shares.get("secondary"),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
    )


def _wrong(played: PlayedDialogue) -> Iterator[tuple[int, PlayedTurn]]:
    return ((number, one) for number, one in enumerate(played.turns, start=1) if one.mismatches)


def describe(played: PlayedDialogue) -> str:
    """Describe every wrong turn of ``played``: expected, actual, and the router's reasons."""
    texts = []
    for number, turn in _wrong(played):
        lines = [("user", turn.expected.user)]
        for one in turn.mismatches:
            lines += [(one.field, f"- {one.expected}"), ("", f"+ {one.actual}")]
        lines += [("why" if at == 0 else "", note) for at, note in enumerate(turn.turn.why)]
        head = f"{turn.expected.where}: {played.dialogue.id}, turn {number} of {len(played.turns)}"
        texts.append("\n".join([head, *(f"  {label:<11}  {text}" for label, text in lines)]))
    return "\n\n".join(texts)


def dialogue_error(played: PlayedDialogue) -> Row | None:
    """The wrong turns of a dialogue, for JSON; None where there is none."""
    turns = [
        {
            "turn": number,
            "where": turn.expected.where,
            "user": turn.expected.user,
            "mismatches": [
                {name: value for name, value in asdict(one).items() if name != "met"}
                for one in turn.mismatches
            ],
            "why": list(turn.turn.why),
        }
        for number, turn in _wrong(played)
    ]
    return {"id": played.dialogue.id, "turns": turns} if turns else None
