"""Plays dialogues through a router, and adds up how it did.

Each dialogue starts with an empty context and a clock that moves one minute a turn; nothing
is written to the workspace (issue 2). What plays is a callable, so a test may hand in a fake.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Final, Protocol

from kds.api.measures import Figures, percentile, share
from kds.api.rehearsal import MinuteClock
from kds.brain.clock import Clock
from kds.brain.turn import Turn, Utterance
from kds.evaluation.dialogue_file import Dialogue, ExpectedTurn
from kds.evaluation.scoring import Verdict, judge


class Route(Protocol):
    """Routes a message, with what was said before it; a `Router` is one."""

    def __call__(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        """Route ``message``."""


_WIDTH: Final = len("context_ref")
"""Of the names of fields, where a wrong turn is described."""

OpenRoute = Callable[[Clock], Route]
"""Opens a conversation with an empty context of its own, under the clock it is given."""


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """An expected turn, what came out, how that compares, and the CPU time it took."""

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
        """True when every turn met every expectation."""
        return all(played.verdict.passed for played in self.turns)


def play(dialogue: Dialogue, open_route: OpenRoute) -> PlayedDialogue:
    """Send every turn of ``dialogue`` through a fresh conversation.

    The history goes along where the turn before says what the assistant replied.
    """
    return PlayedDialogue(dialogue, tuple(turn_by_turn(dialogue, open_route)))


def turn_by_turn(dialogue: Dialogue, open_route: OpenRoute) -> Iterator[PlayedTurn]:
    """As `play`, for whoever has other work to do between two turns."""
    clock = MinuteClock()
    route = open_route(clock)
    said: list[Utterance] = []
    for expected in dialogue.turns:
        started = process_time()
        turn = route(expected.user, history=said) if _is_answered(said) else route(expected.user)
        cpu_ms = (process_time() - started) * 1000.0
        yield PlayedTurn(expected, turn, judge(expected, turn), cpu_ms)
        said.append(Utterance(expected.user))
        said += [Utterance(expected.reply, "assistant")] if expected.reply else []
        clock.tick()


def _is_answered(said: Sequence[Utterance]) -> bool:
    return bool(said) and said[-1].role == "assistant"


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
    total = len(played.turns)
    for number, turn in enumerate(played.turns, start=1):
        if not turn.verdict.passed:
            head = f"{turn.expected.where}: {played.dialogue.id}, turn {number} of {total}"
            yield [head, f"  user         {turn.expected.user}", *_fields(turn), *_why(turn)]


def _fields(played: PlayedTurn) -> Iterator[str]:
    for mismatch in played.verdict.mismatches:
        yield f"  {mismatch.field:<{_WIDTH}}  - {mismatch.expected}"
        yield f"  {'':<{_WIDTH}}  + {mismatch.actual}"


def _why(played: PlayedTurn) -> Iterator[str]:
    for index, note in enumerate(played.turn.why):
        yield f"  {'why' if index == 0 else '':<{_WIDTH}}  {note}"
