"""Plays dialogues through a router, compares each turn with what is expected, adds up the score.

Each dialogue starts with an empty context and a clock that moves one minute a turn; nothing is
written to the workspace.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from kds.api.measures import Figures, percentile, share, timed
from kds.api.rehearsal import MinuteClock, bare, matches
from kds.brain.clock import Clock
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.testing.dialogues import Dialogue, ExpectedTurn
from kds.testing.example_files import Row

_YES_NO: Final = ("no", "yes")
_ARTICLE: Final = re.compile(r"^\s*(?:an?|the)\s+", re.IGNORECASE)


class Route(Protocol):
    """Routes a message, with what was said before it; a `Router` is one."""

    def __call__(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        """Route ``message``."""


OpenRoute = Callable[[Clock], Route]
"""Opens a conversation with an empty context of its own, under the clock it is given."""


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

    def met(self, field: str) -> bool | None:
        """Whether a field came out as expected; None when nothing was."""
        return next(one.met for one in self.checks if one.field == field)


@dataclass(frozen=True, slots=True)
class PlayedDialogue:
    """A dialogue with every turn played; a wrong turn does not end it."""

    dialogue: Dialogue
    turns: tuple[PlayedTurn, ...]

    @property
    def passed(self) -> bool:
        """Whether every turn met every expectation."""
        return not any(played.mismatches for played in self.turns)


def play(dialogue: Dialogue, open_route: OpenRoute) -> PlayedDialogue:
    """Send every turn of ``dialogue`` through a fresh conversation.

    The history is passed along where the turn before says what the assistant replied.
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
    needed = [played.met("expanded") for played in turns if played.expected.expanded]
    kept = [played.met("expanded") for played in turns if not played.expected.expanded]
    times = [played.cpu_ms for played in turns]
    return Score(
        dialogues=len(dialogues),
        turns=len(turns),
        intent_accuracy=share(played.met("intent") for played in turns),
        needed=len(needed),
        expanded_exact=share(needed),
        context_ref_accuracy=share(played.met("context_ref") for played in turns),
        kept=len(kept),
        false_rewrites=share(not unchanged for unchanged in kept),
        switch_accuracy=share(played.met("switch") for played in turns),
        secondary_accuracy=share(played.met("secondary") for played in turns),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
    )


def describe(played: PlayedDialogue) -> str:
    """Describe every wrong turn of ``played``: expected, actual, and the router's reasons."""
    texts = []
    for number, turn in enumerate(played.turns, start=1):
        if not turn.mismatches:
            continue
        lines = [("user", turn.expected.user)]
        for one in turn.mismatches:
            lines += [(one.field, f"- {one.expected}"), ("", f"+ {one.actual}")]
        lines += [("why" if at == 0 else "", note) for at, note in enumerate(turn.turn.why)]
        head = f"{turn.expected.where}: {played.dialogue.id}, turn {number} of {len(played.turns)}"
        texts.append("\n".join([head, *(f"  {label:<11}  {text}" for label, text in lines)]))
    return "\n\n".join(texts)


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
                "mismatches": [
                    {"field": one.field, "expected": one.expected, "actual": one.actual}
                    for one in turn.mismatches
                ],
                "why": list(turn.turn.why),
            }
            for number, turn in enumerate(played.turns, start=1)
            if turn.mismatches
        ],
    }
