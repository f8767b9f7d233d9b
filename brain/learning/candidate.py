"""What the events add up to: messages that may become examples, and how sure that is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from kds.brain.learning.event import LearningEvent, candidate_id
from kds.brain.learning.evidence import confidence, occurrences, standing

State = Literal["waiting", "proposed", "due", "learned", "rejected", "refused"]
"""Too little said; to be reviewed; sure enough to be accepted by itself; accepted; never again;
sure enough, yet it would do harm."""

FUTURE_TOLERANCE: Final = timedelta(minutes=5)
"""How far ahead of the clock an event may be, as in the conversation context."""

_ACCEPTED: Final = frozenset({"accepted", "adopted"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message with the intent that the user says it has.

    ``occurrences`` and ``against`` count times, not events: what was said for this intent, and
    for any other. ``kinds`` says how often in which way.
    """

    id: str
    text: str
    intent: str
    occurrences: int
    against: int
    confidence: float
    state: State
    kinds: Mapping[str, int]
    first: datetime
    last: datetime
    was: tuple[str, ...]
    adopted: bool = False

    @property
    def why(self) -> str:
        """The evidence in one line."""
        said = ", ".join(f"{kind} {_times(count)}" for kind, count in sorted(self.kinds.items()))
        against = f", against it {_times(self.against)}" if self.against else ""
        days = "" if self.first.date() == self.last.date() else f" to {self.last:%Y-%m-%d}"
        return f"{said}{against}, {self.first:%Y-%m-%d}{days}"


def find_candidates(events: Iterable[LearningEvent], *, now: datetime) -> tuple[Candidate, ...]:
    """Every candidate of the events, the surest first.

    What was said before the user took an example back no longer counts for it.
    """
    horizon = now + FUTURE_TOLERANCE
    by_key: dict[str, list[LearningEvent]] = {}
    for event in events:
        if event.antecedent is None and (event.at <= horizon or not event.is_evidence):
            by_key.setdefault(event.key, []).append(event)
    found = [candidate for group in by_key.values() for candidate in _candidates(group)]
    found.sort(key=lambda one: (-one.confidence, -one.occurrences, one.text))
    return tuple(found)


def _candidates(events: Sequence[LearningEvent]) -> Iterable[Candidate]:
    """The candidates for one message: one for each intent that it was said to have."""
    intents = dict.fromkeys(event.intent for event in events)
    for intent in intents:
        decisions = [event for event in events if event.intent == intent and not event.is_evidence]
        undone = [at for at, event in enumerate(events) if _is_undone(event, intent)]
        counted = [event for event in events[max(undone, default=0) :] if event.is_evidence]
        agreeing = [event for event in counted if event.intent == intent]
        if agreeing or decisions:
            yield _candidate(intent, agreeing, counted, decisions)


def _is_undone(event: LearningEvent, intent: str) -> bool:
    return event.kind == "undone" and event.intent == intent


def _candidate(
    intent: str,
    agreeing: Sequence[LearningEvent],
    counted: Sequence[LearningEvent],
    decisions: Sequence[LearningEvent],
) -> Candidate:
    latest = [*decisions, *agreeing][-1]
    moments = [event.at for event in agreeing] or [latest.at]
    count = len(occurrences(event.at for event in agreeing))
    against = sum(
        len(occurrences(event.at for event in counted if event.intent == other))
        for other in {event.intent for event in counted} - {intent}
    )
    return Candidate(
        id=candidate_id(latest.text, intent),
        text=latest.text,
        intent=intent,
        occurrences=count,
        against=against,
        confidence=confidence(count, against),
        state=_state(decisions, count, against),
        kinds=Counter(event.kind for event in agreeing),
        first=min(moments),
        last=max(moments),
        was=tuple(sorted({event.was for event in agreeing if event.was})),
        adopted=bool(decisions) and decisions[-1].kind == "adopted",
    )


def _state(decisions: Sequence[LearningEvent], agreeing: int, against: int) -> State:
    if decisions and decisions[-1].kind in _ACCEPTED:
        return "learned"
    if any(event.kind == "rejected" for event in decisions):
        return "rejected"
    if decisions and decisions[-1].kind == "refused":
        return "refused"
    return standing(agreeing, against)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
