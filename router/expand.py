"""The step that writes the self-contained message and notices that the topic changes.

Reads   message, history, context, references, edits
Writes  expanded, context_ref, context_switch
Never   looks for references; it applies the edits it is given.
"""

from dataclasses import replace
from typing import Final

from kds.brain.turn import Turn
from kds.router.conversation import DiscourseOf, remembered
from kds.router.pipeline import Step
from kds.router.references.resolver import Resolver, apply_edits

READS: Final = frozenset({"message", "history", "context", "references", "edits"})
WRITES: Final = frozenset({"expanded", "context_ref", "context_switch"})


def make_expand(resolver: Resolver, discourse_of: DiscourseOf | None = None) -> Step:
    """The expand step. ``resolver`` knows the rules for topic switches.

    ``discourse_of`` says what a message is read after; None: the remembered context.
    """
    discourse_of = discourse_of or remembered(resolver)

    def expand(turn: Turn) -> Turn:
        rule = resolver.switch(turn.message, discourse_of(turn))
        expanded = apply_edits(turn.message, turn.edits)
        targets = [reference.target for reference in turn.references if reference.target]
        return replace(
            turn,
            expanded=expanded,
            context_ref=targets[0] if targets else None,
            context_switch=rule is not None,
            notes=turn.notes + _notes(turn, expanded, rule),
        )

    return Step("expand", READS, WRITES, expand)


def _notes(turn: Turn, expanded: str, switch: str | None) -> tuple[str, ...]:
    notes = (
        [f"expanded to '{expanded}'"] if expanded != turn.message else ["stands alone as written"]
    )
    if switch is not None:
        notes.append(f"the topic changes ({switch}): earlier messages no longer count")
    return tuple(notes)
