"""What the router does to real chats: does it do no harm, and does it help?

The measures are those of docs/evaluation.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kds.api.measures import mean, percentile, rounded, share
from kds.evaluation.chats.playing import JudgedEdit, PlayedChatTurn

BINS: Final = 10
"""Bins of confidence in the calibration error."""


@dataclass(frozen=True, slots=True)
class EditCount:
    """Edits by outcome, and the share of right ones (None for no edits)."""

    right: int
    wrong: int
    false: int

    @property
    def precision(self) -> float | None:
        """Right ones among all."""
        whole = self.right + self.wrong + self.false
        return self.right / whole if whole else None

    @classmethod
    def of(cls, edits: Iterable[JudgedEdit]) -> "EditCount":
        """Count ``edits``."""
        found = Counter(edit.outcome for edit in edits)
        return cls(found["right"], found["wrong"], found["false"])

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "right": self.right, "wrong": self.wrong, "false": self.false,
            "precision": self.precision,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatScore:
    """How chats came out. Shares lie in [0, 1], and are None when nothing counts.

    The keys of `as_dict` are those of the project's measuring script. ``by_rule`` and
    ``by_kind`` count edits; a kind of "" is an edit where nothing refers.
    """

    turns: int
    follow_ups: int
    changed: int
    edits: EditCount
    harmed: float | None
    must: Mapping[str, tuple[int, float | None]]
    """By source: references a stranger needs, and the share of them that was written out."""
    intents: int
    acted: float | None
    intent_right_when_acted: float | None
    ece: float
    ms_p50: float
    ms_p99: float
    by_rule: Mapping[str, EditCount]
    by_kind: Mapping[str, EditCount]

    def as_dict(self) -> dict[str, object]:
        """The object that `kds eval chats --json` prints."""
        (must_user, recall_user), (must_reply, recall_reply) = (
            self.must["user"], self.must["assistant"],
        )  # fmt: skip
        found: dict[str, object] = {
            "turns": self.turns,
            "follow_ups": self.follow_ups,
            "changed": self.changed,
            **{f"edits_{name}": getattr(self.edits, name) for name in ("right", "wrong", "false")},
            "precision": self.edits.precision,
            "harmed": self.harmed,
            "must_user": must_user,
            "must_recall_user": recall_user,
            "must_assistant": must_reply,
            "must_recall_assistant": recall_reply,
            "intents": self.intents,
            "acted": self.acted,
            "intent_right_when_acted": self.intent_right_when_acted,
            "ece": self.ece,
            "ms_p50": self.ms_p50,
            "ms_p99": self.ms_p99,
            "by_rule": {name: count.as_dict() for name, count in self.by_rule.items()},
            "by_kind": {name: count.as_dict() for name, count in self.by_kind.items()},
        }
        return rounded(found)


def score_chats(played: Sequence[PlayedChatTurn]) -> ChatScore:
    """Add up what `kds eval chats` reports."""
    turns = [one for one in played if one.expected.labelled]
    edits = [edit for one in turns for edit in one.edits]
    times = [one.cpu_ms for one in played]
    return ChatScore(
        turns=len(turns),
        follow_ups=sum(map(PlayedChatTurn.follows_up, turns)),
        changed=sum(map(PlayedChatTurn.changed, turns)),
        edits=EditCount.of(edits),
        harmed=share(one.harmed for one in turns),
        must={"user": _must(turns, "user"), "assistant": _must(turns, "assistant")},
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
