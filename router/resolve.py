"""The step that finds references and their antecedents.

Reads   message, history, context
Writes  references, edits, unresolved
Never   rewrites the message; that is the next step's.
"""

from dataclasses import replace
from typing import Final

from kds.brain.turn import Turn
from kds.router.references.decision import is_answered
from kds.router.references.resolver import Known, Resolver, nothing_known
from kds.router.step import Step

READS: Final = frozenset({"message", "history", "context"})
WRITES: Final = frozenset({"references", "edits", "unresolved"})


def make_resolve(resolver: Resolver, known: Known = nothing_known) -> Step:
    """The resolve step over the rules and the language layer of ``resolver``.

    ``known`` is asked for what the conversation referred to before its context begins.
    """

    def resolve(turn: Turn) -> Turn:
        resolution = resolver.resolve(
            turn.message,
            resolver.discourse(turn.context, known(), as_said=is_answered(turn)),
            reply=turn.history[-1].text if is_answered(turn) else "",
        )
        notes = resolution.notes or ("no reference to resolve",)
        return replace(
            turn,
            references=resolution.references,
            edits=resolution.edits,
            unresolved=resolution.unresolved,
            notes=turn.notes + notes,
        )

    return Step("resolve", READS, WRITES, resolve)
