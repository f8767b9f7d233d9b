"""What recall each promised precision of written references costs, on chats that were played.

The decision gives every proposed edit a probability and writes those that reach the promise. So
one play tells the outcome of every other promise too: where the replies are known, nothing that
was written for one turn is read in the next (docs/references.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from kds.api.measures import Figures, share
from kds.brain.turn import Edit, Proposal, Turn
from kds.evaluation.chats.chat_file import ChatReference
from kds.evaluation.chats.playing import JudgedEdit, PlayedChatTurn, judge
from kds.router.references.decision import bar
from kds.router.references.resolver import apply_edits


@dataclass(frozen=True, slots=True)
class CurvePoint(Figures):
    """What is written, and how well, where this precision is promised.

    Shares lie in [0, 1], and are None where nothing counts. The recalls are shares of the
    labelled references: of all, and of those a stranger needs, by where their names can be read.
    """

    threshold: float
    edits: int
    right: int
    precision: float | None
    harmed: float | None
    recall: float | None
    must_recall_user: float | None
    must_recall_assistant: float | None
    promised: bool
    """Whether this is the promise of the settings."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The edits of a turn with the highest promise at which each is still written."""

    turn: PlayedChatTurn
    edits: tuple[tuple[float, JudgedEdit], ...]


def precision_curve(played: Sequence[PlayedChatTurn], promised: float) -> tuple[CurvePoint, ...]:
    """The outcome at every promise at which it changes, and at ``promised``; lowest first."""
    turns = [_weighed(one) for one in played if one.expected.labelled]
    limits = {limit for turn in turns for limit, _ in turn.edits if limit >= 0.0}
    return tuple(
        _point(turns, limit, promised=limit == promised) for limit in sorted(limits | {promised})
    )


def _weighed(one: PlayedChatTurn) -> _Weighed:
    weighed = {proposal.edit for proposal in one.turn.proposals}
    certain = [Proposal(edit, 1.0) for edit in one.turn.edits if edit not in weighed]
    found = (
        (_limit(one.turn, proposal.probability), edit)
        for proposal in (*one.turn.proposals, *certain)
        for edit in _judged(one, proposal.edit)
    )
    return _Weighed(one, tuple(found))


def _limit(turn: Turn, probability: float) -> float:
    """The highest promise that ``probability`` reaches; below 0 it reaches none."""
    most = 1.0 - bar(turn.message, 0.0)
    return 1.0 - (1.0 - probability) / most


def _judged(one: PlayedChatTurn, edit: Edit) -> tuple[JudgedEdit, ...]:
    written = edit in one.turn.edits
    expanded = one.turn.expanded if written else apply_edits(one.turn.message, [edit])
    return judge(replace(one.turn, edits=(edit,), expanded=expanded), one.expected)


def _point(turns: Sequence[_Weighed], threshold: float, *, promised: bool) -> CurvePoint:
    written = [[edit for limit, edit in turn.edits if limit >= threshold] for turn in turns]
    edits = list(chain.from_iterable(written))
    right = sum(map(_right, edits))
    met = [pair for turn, ours in zip(turns, written, strict=True) for pair in _met(turn, ours)]
    return CurvePoint(
        threshold=threshold,
        edits=len(edits),
        right=right,
        precision=right / len(edits) if edits else None,
        harmed=share(not all(map(_right, ours)) for ours in written),
        recall=share(done for _, done in met),
        must_recall_user=_needed(met, "user"),
        must_recall_assistant=_needed(met, "assistant"),
        promised=promised,
    )


def _right(edit: JudgedEdit) -> bool:
    return edit.outcome == "right"


def _met(turn: _Weighed, written: Sequence[JudgedEdit]) -> list[tuple[ChatReference, bool]]:
    """The labelled references of a turn, and whether each was written out rightly."""
    one = replace(turn.turn, edits=tuple(written))
    return [(reference, one.met(reference)) for reference in one.expected.references]


def _needed(met: Sequence[tuple[ChatReference, bool]], source: str) -> float | None:
    return share(done for ref, done in met if ref.must and ref.source == source)
