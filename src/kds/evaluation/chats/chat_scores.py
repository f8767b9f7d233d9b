"""What the router does to real chats: does it do no harm, and does it help?

The measures are those of docs/evaluation.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kds.api.measures import Figures, mean, percentile, share
from kds.evaluation.chats.playing import JudgedEdit, PlayedChatTurn

BINS: Final = 10
"""Bins of confidence in the calibration error."""


@dataclass(frozen=True, slots=True)
class EditCount(Figures):
    """Edits by outcome, and the share of right ones (None for no edits)."""

    right: int
    wrong: int
    false: int
    precision: float | None

    @classmethod
    def of(cls, edits: Iterable[JudgedEdit]) -> "EditCount":
        """Count ``edits``."""
        found = Counter(edit.outcome for edit in edits)
        whole = found.total()
        precision = found["right"] / whole if whole else None
        return cls(found["right"], found["wrong"], found["false"], precision)


@dataclass(frozen=True, slots=True)
class ChatScore(Figures):
    """How chats came out. Shares lie in [0, 1], and are None when nothing counts.

    The names are those of the project's measuring script. ``must_`` are references a stranger
    needs, by where their names can be read, ``must_recall_`` the share of them that was written
    out. ``by_rule`` and ``by_kind`` count edits; a kind of "" is an edit where nothing refers.
    """

    turns: int
    follow_ups: int
    changed: int
    edits_right: int
    edits_wrong: int
    edits_false: int
    precision: float | None
    harmed: float | None
    must_user: int
    must_recall_user: float | None
    must_assistant: int
    must_recall_assistant: float | None
    intents: int
    acted: float | None
    intent_right_when_acted: float | None
    ece: float
    ms_p50: float
    ms_p99: float
    by_rule: Mapping[str, EditCount]
    by_kind: Mapping[str, EditCount]


def score_chats(played: Sequence[PlayedChatTurn]) -> ChatScore:
    """Add up what `kds eval chats` reports."""
    turns = [one for one in played if one.expected.labelled]
    edits = [edit for one in turns for edit in one.edits]
    counted = EditCount.of(edits)
    must_user, recall_user = _must(turns, "user")
    must_assistant, recall_assistant = _must(turns, "assistant")
    times = [one.cpu_ms for one in played]
    return ChatScore(
        turns=len(turns),
        follow_ups=sum(map(PlayedChatTurn.follows_up, turns)),
        changed=sum(map(PlayedChatTurn.changed, turns)),
        edits_right=counted.right,
        edits_wrong=counted.wrong,
        edits_false=counted.false,
        precision=counted.precision,
        harmed=share(one.harmed for one in turns),
        must_user=must_user,
        must_recall_user=recall_user,
        must_assistant=must_assistant,
        must_recall_assistant=recall_assistant,
        **_intents([one for one in turns if one.expected.intents]),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
        by_rule=_counts(edits, lambda edit: edit.rule),
        by_kind=_counts(edits, lambda edit: edit.reference.kind if edit.reference else ""),
    )


def _intents(turns: Sequence[PlayedChatTurn]) -> dict[str, Any]:
    judged = ((one.turn.confidence, one.intent_right) for one in turns)
    return {
        "intents": len(turns),
        "acted": share(one.turn.action == "route" for one in turns),
        "intent_right_when_acted": share(one.intent_right for one in turns),
        "ece": calibration_error([(p, right) for p, right in judged if right is not None]),
    }


def _must(turns: Iterable[PlayedChatTurn], source: str) -> tuple[int, float | None]:
    met = [
        one.met(ref)
        for one in turns
        for ref in one.expected.references
        if ref.must and ref.source == source
    ]
    return len(met), share(met)


def _counts(edits: Sequence[JudgedEdit], key: Callable[[JudgedEdit], str]) -> dict[str, EditCount]:
    found = Counter(map(key, edits))
    return {
        name: EditCount.of(edit for edit in edits if key(edit) == name)
        for name, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    }


def calibration_error(outcomes: Sequence[tuple[float, bool]]) -> float:
    """How far confidence and being right lie apart, over ten bins (Guo et al. 2017).

    >>> calibration_error([(0.95, True), (0.95, False)])
    0.45
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for probability, right in outcomes:
        bins.setdefault(min(int(probability * BINS), BINS - 1), []).append((probability, right))
    gaps = (
        len(one) * abs((mean(p for p, _ in one) or 0.0) - (mean(float(r) for _, r in one) or 0.0))
        for one in bins.values()
    )
    return round(sum(gaps) / max(1, len(outcomes)), 6)
