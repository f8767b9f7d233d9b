"""The step that has a language model rewrite the message where the rules could not.

Reads   message, history, rewrite, context, references, edits, unresolved, expanded,
        context_ref, context_switch
Writes  expanded, references, edits, context_ref, rewriting
Never   asks about a message that stands alone, waits longer than agreed, or takes a text that
        fails a check.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kds.brain.errors import KdsError
from kds.brain.message import one_line
from kds.brain.turn import Rewriting, Turn
from kds.router.conversation import DiscourseOf, remembered
from kds.router.pipeline import Step
from kds.router.references.resolver import Resolver
from kds.router.rewriting.writer import CheckedRewriter, could_lean, rewrite_turn

READS: Final = frozenset(
    {
        *("message", "history", "rewrite", "context", "references", "edits", "unresolved"),
        *("expanded", "context_ref", "context_switch"),
    }
)
WRITES: Final = frozenset({"expanded", "references", "edits", "context_ref", "rewriting"})

NOTHING: Final = "no model is asked: the message begins a topic, or is too long to be a follow-up"

FindRewriter = Callable[[], CheckedRewriter | None]
"""Returns the rewriter that is set up now, None when none is. Asked only for messages that may
need one. May raise KdsError: the settings are wrong, the model cannot be made."""


def no_rewriter() -> CheckedRewriter | None:
    """Where the rules alone are to be at work."""
    return None


def make_rewrite(
    resolver: Resolver,
    find: FindRewriter,
    discourse_of: DiscourseOf | None = None,
    *,
    only_kept: bool = False,
) -> Step:
    """The rewrite step. With ``only_kept`` no model is asked: what it said before counts.

    ``discourse_of`` says what a message is read after; None: the remembered context.
    """
    discourse_of = discourse_of or remembered(resolver)

    def rewrite(turn: Turn) -> Turn:
        if not could_lean(turn):
            return _noted(turn, NOTHING) if turn.rewrite else turn
        try:
            checked = find()
        except KdsError as error:
            failed = Rewriting("none", "failed", getattr(error, "kind", "setting"))
            return replace(_noted(turn, f"no model: {one_line(error.message)}"), rewriting=failed)
        if checked is None:
            return _noted(turn, "no model is set up") if turn.rewrite else turn
        if turn.rewrite and checked.mode == "rules-only":
            return _noted(turn, "no model is asked: the settings say rules-only")
        return rewrite_turn(turn, discourse_of(turn), checked, only_kept=only_kept)

    return Step("rewrite", READS, WRITES, rewrite)


def _noted(turn: Turn, note: str) -> Turn:
    return replace(turn, notes=(*turn.notes, note))
