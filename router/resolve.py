"""The step that finds references and their antecedents.

Reads   message, history, context
Writes  references, edits, unresolved
Never   rewrites the message; that is the next step's.
"""

from dataclasses import replace
from typing import Final

from kds.brain.turn import Turn
from kds.router.conversation import DiscourseOf, remembered
from kds.router.pipeline import Step
from kds.router.references.decision import is_answered
from kds.router.references.resolver import Resolver

READS: Final = frozenset({"message", "history", "context"})
WRITES: Final = frozenset({"references", "edits", "unresolved"})


def make_resolve(resolver: Resolver, discourse_of: DiscourseOf | None = None) -> Step:
    """The resolve step over the rules and the language layer of ``resolver``.

    ``discourse_of`` says what a message is read after; None: the remembered context.
    """
    discourse_of = discourse_of or remembered(resolver)

    def resolve(turn: Turn) -> Turn:
        resolution = resolver.resolve(
            turn.message,
            discourse_of(turn),
            history=turn.history if is_answered(turn) else (),
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
