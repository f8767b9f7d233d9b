"""Dialogue files: conversations with the outcome you expect; played, compared and scored.

One format for `kds test`, `kds eval dialogues` and the pytest plugin; docs/testing-your-rules.md
describes it. Each dialogue starts with an empty context and a clock that moves one minute a turn;
nothing is written to the workspace.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StrictBool

from kds.api.measures import share
from kds.api.rehearsal import MinuteClock, matches
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.turn import UNKNOWN, Turn
from kds.testing.examples import (
    Bench,
    Example,
    Row,
    Spoken,
    Text,
    Texts,
    converse,
    read_examples,
    times,
)

FOLDER: Final = "dialogues"
"""Every YAML file below a folder of this name is a dialogue file."""

_ARTICLE: Final = re.compile(r"^\s*(?:an?|the)\s+", re.IGNORECASE)

_Intents = Annotated[Texts, AfterValidator(lambda names: tuple(name.upper() for name in names))]


class ExpectedTurn(Spoken, extra="forbid"):
    """A message, and the outcomes that count as right. An empty tuple checks nothing.

    The exception is ``expanded``: empty, the message must come back unchanged. ``secondary`` is
    None when the secondary intents do not matter.
    """

    user: Text
    intents: _Intents = Field((), alias="intent")
    context_refs: Texts = Field((), alias="context_ref")
    expanded: Texts = ()
    switch: StrictBool = False
    secondary: _Intents | None = None
    reply: Text | None = None
    note: Any = None


class Dialogue(Example, extra="forbid"):
    """A conversation that starts with an empty context."""

    id: Text
    turns: list[ExpectedTurn] = Field(min_length=1)
    note: Any = None


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

    Raises ExampleFileError when a path does not exist or a folder holds none.
    """
    found: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        # The folder itself may be the one called "dialogues", hence the absolute parent.
        root = path.resolve().parent
        files = (one for one in path.rglob("*") if one.is_file())
        inside = sorted(one for one in files if is_dialogue_file(one.resolve(), root))
        inside = inside if path.is_dir() else [path]
        found += inside
        if not path.exists():
            problems.append(Problem(str(path), "no such file or folder", "check the path"))
        elif not inside:
            hint = f"name one X.dialogue.yaml, or put it in a folder called {FOLDER}"
            problems.append(Problem(str(path), "no dialogue file in this folder", hint))
    if problems:
        raise ExampleFileError(problems)
    return tuple(dict.fromkeys(found))


def read_dialogues(path: Path) -> tuple[Dialogue, ...]:
    """Read one dialogue file. Raises ExampleFileError with every problem."""
    return read_examples(path, Dialogue)


def play(dialogue: Dialogue, open_route: Callable[[MinuteClock], Callable[..., Turn]]) -> list[Row]:
    """Send every turn of ``dialogue`` through a fresh conversation; a wrong one does not end it."""
    return [
        {"id": dialogue.id, "turn": number, "of": len(dialogue.turns)}
        | judge(expected, turn)
        | {"ms": ms}
        for number, (expected, turn, ms) in enumerate(converse(dialogue.turns, open_route), 1)
    ]


def judge(expected: ExpectedTurn, turn: Turn) -> Row:
    """Compare ``turn`` with ``expected``; a field is None where nothing is expected of it.

    An expected intent of UNKNOWN is met when the router did not route; references compare like
    expansions, leading articles aside.
    """
    refused = UNKNOWN in expected.intents and turn.action != "route"
    intent = refused or (turn.intent in expected.intents and turn.intent != UNKNOWN)
    ref = _ARTICLE.sub("", turn.context_ref or "")
    refs = [_ARTICLE.sub("", text) for text in expected.context_refs]
    secondary, also = expected.secondary, turn.secondary_intents
    wording = " | ".join(expected.expanded) or f"{expected.user} (unchanged)"
    given = f"{turn.intent} {turn.confidence:.2f}, action {turn.action}"
    fields: dict[str, tuple[bool | None, str, str]] = {
        "expanded": (
            matches(turn.expanded, expected.expanded or [expected.user]), wording, turn.expanded),
        "switch": (
            turn.context_switch == expected.switch, _said(expected.switch),
            _said(turn.context_switch)),
        "intent": (intent if expected.intents else None, " | ".join(expected.intents), given),
        "context_ref": (
            bool(ref) and matches(ref, refs) if refs else None,
            " | ".join(expected.context_refs), turn.context_ref or "none"),
        "secondary": (
            None if secondary is None else set(also) == set(secondary),
            ", ".join(secondary or ()) or "none", ", ".join(also) or "none"),
    }  # fmt: skip
    mismatches = [
        {"field": field, "expected": wanted, "actual": actual}
        for field, (met, wanted, actual) in fields.items()
        if met is False
    ]
    return {
        "where": expected.where,
        "user": expected.user,
        "needed": bool(expected.expanded),
        **{field: met for field, (met, _, _) in fields.items()},
        "right": not mismatches,
        "mismatches": mismatches,
        "why": list(turn.why),
    }


def _said(switched: bool) -> str:
    return "yes" if switched else "no"


def describe(turns: Iterable[Row]) -> str:
    """Describe every wrong turn: expected, actual, and the router's reasons."""
    texts = []
    for one in (one for one in turns if not one["right"]):
        lines = [("user", one["user"])]
        for check in one["mismatches"]:
            lines += [(check["field"], f"- {check['expected']}"), ("", f"+ {check['actual']}")]
        lines += [("" if at else "why", note) for at, note in enumerate(one["why"])]
        head = f"{one['where']}: {one['id']}, turn {one['turn']} of {one['of']}"
        texts.append("\n".join([head, *(f"  {label:<11}  {text}" for label, text in lines)]))
    return "\n\n".join(texts)


# kds eval dialogues


def run(dialogues: Sequence[Dialogue], bench: Bench) -> list[Row]:
    """Play each dialogue in a conversation of its own, of which nothing remains."""
    router = bench.router()
    found = bench.each(dialogues, "playing")
    return [row for dialogue in found for row in play(dialogue, router.rehearse)]


def score(turns: Sequence[Row]) -> Row:
    """Add up what `kds eval dialogues` reports; docs/testing-your-rules.md explains the keys."""
    needed = [one for one in turns if one["needed"]]
    kept = [one for one in turns if not one["needed"]]
    return {
        "dialogues": sum(one["turn"] == 1 for one in turns),
        "turns": len(turns),
        "intent_accuracy": share(one["intent"] for one in turns),
        "needed": len(needed),
        "expanded_exact": share(one["expanded"] for one in needed),
        "context_ref_accuracy": share(one["context_ref"] for one in turns),
        "kept": len(kept),
        "false_rewrites": share(not one["expanded"] for one in kept),
        "switch_accuracy": share(one["switch"] for one in turns),
        "secondary_accuracy": share(one["secondary"] for one in turns),
        **times(turns, 50, 99),
    }
