"""The step that keeps the edits that are probably right, and drops the others.

Reads   message, history, context, references, edits, unresolved
Writes  references, edits, unresolved, proposals
Never   proposes anything; what it drops stays as typed and is listed as unresolved.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Proposal, Reference, Turn
from kds.router.pipeline import Step
from kds.router.references.decision import (
    PRECISION,
    Decider,
    bar,
    behind,
    bounded,
    edit_signs,
)
from kds.router.references.taught import is_taught

READS: Final = frozenset({"message", "history", "context", "references", "edits", "unresolved"})
WRITES: Final = frozenset({"references", "edits", "unresolved", "proposals"})


Precision = Callable[[], float]
"""Returns the share of written edits that is to be right. Asked only when there is an edit."""


def usual_precision() -> float:
    """What is promised unless the settings say otherwise."""
    return PRECISION


def make_decide(decider: Decider | None, precision: Precision = usual_precision) -> Step:
    """The decide step; without a ``decider`` everything proposed is written."""

    def decide(turn: Turn) -> Turn:
        if decider is None or not turn.edits:
            return turn
        needed = bar(turn.message, precision())
        kept, proposals = _settled(turn)
        dropped: list[Edit] = []
        notes: list[str] = []
        for edits in _together(turn):
            decisions = [decider.decide(edit_signs(turn, edit)) for edit in edits]
            reference = behind(turn, edits[0])
            least = bounded(turn, reference, min(probability for probability, _ in decisions))
            (kept if least >= needed else dropped).extend(edits)
            for edit, (_, against) in zip(edits, decisions, strict=True):
                proposals.append(Proposal(edit, least))
                notes.append(_note(edit, least, needed, against))
        return replace(
            turn,
            edits=tuple(kept),
            references=_references(turn, kept) if dropped else turn.references,
            unresolved=_unresolved(turn, dropped),
            proposals=tuple(proposals),
            notes=(*turn.notes, *notes),
        )

    return Step("decide", READS, WRITES, decide)


def _settled(turn: Turn) -> tuple[list[Edit], list[Proposal]]:
    """What the user taught: there is nothing to weigh."""
    kept = [edit for edit in turn.edits if is_taught(turn, edit)]
    return kept, [Proposal(edit, 1.0) for edit in kept]


def _together(turn: Turn) -> list[list[Edit]]:
    """The edits by what they write out: a pronoun and its verb are changed both, or neither.

    What is settled is not among them.
    """
    groups: dict[Reference | None, list[Edit]] = {}
    for edit in turn.edits:
        if is_taught(turn, edit):
            continue
        groups.setdefault(behind(turn, edit), []).append(edit)
    return list(groups.values())


def _references(turn: Turn, kept: list[Edit]) -> tuple[Reference, ...]:
    """Only what is written was understood: nothing below the bar is fed back."""
    written = [behind(turn, edit) for edit in kept]
    return tuple(reference for reference in turn.references if reference in written)


def _unresolved(turn: Turn, dropped: list[Edit]) -> tuple[str, ...]:
    words = [turn.message[edit.start : edit.end].strip() for edit in dropped]
    left = [word or turn.message.strip() for word in words]
    return tuple(dict.fromkeys((*turn.unresolved, *left)))


def _note(edit: Edit, probability: float, needed: float, against: tuple[str, ...]) -> str:
    fate = "written" if probability >= needed else "not written"
    signs = f"; against it: {', '.join(against)}" if against else ""
    return f"'{edit.text}' is {fate}: probability {probability:.2f}, threshold {needed:.2f}{signs}"
