"""Plays dialogues through a router, compares each turn with what is expected, adds up the score.

Each dialogue starts with an empty context and a clock that moves one minute a turn; nothing is
written to the workspace.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, Final, Protocol

from kds.api.measures import Figures, percentile, share
from kds.api.rehearsal import MinuteClock
from kds.api.same_text import bare, matches
from kds.brain.clock import Clock
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.testing.dialogues import Dialogue, ExpectedTurn
from kds.testing.example_files import Row

_ARTICLE: Final = re.compile(r"^\s*(?:an?|the)\s+", re.IGNORECASE)


class Route(Protocol):
    """Routes a message, with what was said before it; a `Router` is one."""

    def __call__(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        """Route ``message``."""


OpenRoute = Callable[[Clock], Route]
"""Opens a conversation with an empty context of its own, under the clock it is given."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A field of a turn that came out wrong."""

    field: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which expectations of one turn were met. None: the dialogue does not say."""

    expanded: bool
    switch: bool
    intent: bool | None = None
    context_ref: bool | None = None
    secondary: bool | None = None
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing came out wrong."""
        return not self.mismatches


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """An expected turn, the actual one, how they compare, and the CPU time in milliseconds."""

    expected: ExpectedTurn
    turn: Turn
    verdict: Verdict
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class PlayedDialogue:
    """A dialogue with every turn played; a wrong turn does not end it."""

    dialogue: Dialogue
    turns: tuple[PlayedTurn, ...]

    @property
    def passed(self) -> bool:
        """Whether every turn met every expectation."""
        return all(played.verdict.passed for played in self.turns)


def play(dialogue: Dialogue, open_route: OpenRoute) -> PlayedDialogue:
    """Send every turn of ``dialogue`` through a fresh conversation.

    The history is passed along where the turn before says what the assistant replied.
    """
    return PlayedDialogue(dialogue, tuple(turn_by_turn(dialogue, open_route)))


def turn_by_turn(dialogue: Dialogue, open_route: OpenRoute) -> Iterator[PlayedTurn]:
    """Like `play`, one turn at a time."""
    clock = MinuteClock()
    route = open_route(clock)
    said: list[Utterance] = []
    for expected in dialogue.turns:
        answered = bool(said) and said[-1].role == "assistant"
        started = process_time()
        turn = route(expected.user, history=said) if answered else route(expected.user)
        cpu_ms = (process_time() - started) * 1000.0
        yield PlayedTurn(expected, turn, judge(expected, turn), cpu_ms)
        said.append(Utterance(expected.user))
        said += [Utterance(expected.reply, "assistant")] if expected.reply else []
        clock.tick()


def judge(expected: ExpectedTurn, turn: Turn) -> Verdict:
    """Compare ``turn`` with ``expected``, field by field.

    An expected intent of UNKNOWN is met when the router did not route.
    """
    verdicts: dict[str, Any] = {
        "expanded": matches(turn.expanded, expected.expanded or (expected.user,)),
        "switch": turn.context_switch == expected.switch,
        "intent": _intent_met(expected, turn) if expected.intents else None,
        "context_ref": _ref_met(expected, turn) if expected.context_refs else None,
        "secondary": None
        if expected.secondary is None
        else set(turn.secondary_intents) == set(expected.secondary),
    }
    shown = _shown(expected, turn)
    wrong = (Mismatch(name, *shown[name]) for name, met in verdicts.items() if met is False)
    return Verdict(**verdicts, mismatches=tuple(wrong))


def _intent_met(expected: ExpectedTurn, turn: Turn) -> bool:
    if UNKNOWN in expected.intents and turn.action != "route":
        return True
    return turn.intent in expected.intents and turn.intent != UNKNOWN


def _ref_met(expected: ExpectedTurn, turn: Turn) -> bool:
    """Compare references like expansions, leading articles aside."""
    accepted = {bare(_ARTICLE.sub("", text)) for text in expected.context_refs}
    return turn.context_ref is not None and bare(_ARTICLE.sub("", turn.context_ref)) in accepted


def _shown(expected: ExpectedTurn, turn: Turn) -> dict[str, tuple[str, str]]:
    """Expected and actual value of every field, for a reader."""
    yes_no = {True: "yes", False: "no"}
    return {
        "expanded": (
            " | ".join(expected.expanded) or f"{expected.user} (unchanged)",
            turn.expanded,
        ),
        "switch": (yes_no[expected.switch], yes_no[turn.context_switch]),
        "intent": (
            " | ".join(expected.intents),
            f"{turn.intent} {turn.confidence:.2f}, action {turn.action}",
        ),
        "context_ref": (" | ".join(expected.context_refs), turn.context_ref or "none"),
        "secondary": (
            ", ".join(expected.secondary or ()) or "none",
            ", ".join(turn.secondary_intents) or "none",
        ),
    }


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
    needed = [played.verdict.expanded for played in turns if played.expected.expanded]
    kept = [played.verdict.expanded for played in turns if not played.expected.expanded]
    times = [played.cpu_ms for played in turns]
    return Score(
        dialogues=len(dialogues),
        turns=len(turns),
        intent_accuracy=share(played.verdict.intent for played in turns),
        needed=len(needed),
        expanded_exact=share(needed),
        context_ref_accuracy=share(played.verdict.context_ref for played in turns),
        kept=len(kept),
        false_rewrites=share(not unchanged for unchanged in kept),
        switch_accuracy=share(played.verdict.switch for played in turns),
        secondary_accuracy=share(played.verdict.secondary for played in turns),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
    )


def describe(played: PlayedDialogue) -> str:
    """Describe every wrong turn of ``played``: expected, actual, and the router's reasons."""
    return "\n\n".join("\n".join(lines) for lines in _wrong_turns(played))


def _wrong_turns(played: PlayedDialogue) -> Iterator[list[str]]:
    for number, turn in enumerate(played.turns, start=1):
        if turn.verdict.passed:
            continue
        lines = [("user", turn.expected.user)]
        for one in turn.verdict.mismatches:
            lines += [(one.field, f"- {one.expected}"), ("", f"+ {one.actual}")]
        lines += [("why" if at == 0 else "", note) for at, note in enumerate(turn.turn.why)]
        head = f"{turn.expected.where}: {played.dialogue.id}, turn {number} of {len(played.turns)}"
        yield [head, *(f"  {label:<11}  {text}" for label, text in lines)]


def dialogue_error(played: PlayedDialogue) -> Row | None:
    """The wrong turns of a dialogue, for JSON; None where there is none."""
    if played.passed:
        return None
    return {
        "id": played.dialogue.id,
        "turns": [
            {
                "turn": number,
                "where": turn.expected.where,
                "user": turn.expected.user,
                "mismatches": turn.verdict.mismatches,
                "why": list(turn.turn.why),
            }
            for number, turn in enumerate(played.turns, start=1)
            if not turn.verdict.passed
        ],
    }
