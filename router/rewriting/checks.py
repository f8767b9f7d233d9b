"""Whether a rewrite that a model made can be taken for the message: it says the same, and says
it alone.

A rewrite is the message with what it points to written out: its own words come back in their
order, and what comes in was said before. A message that leans on a whole sentence ("What about
the sublease?") is that sentence with the message's words in it (`rewriting_leaning`). Everything
else is turned down by name, however good it sounds: an answer, a new name, another request.
"""

from collections.abc import Sequence

from kds.router.rewriting.changes import (
    brought_in,
    longer,
    longest,
    lost,
    negated,
    pointless,
    strange,
    tenses,
    turned,
    vague,
)
from kds.router.rewriting.form import form
from kds.router.rewriting.leaning import as_sentence, leans
from kds.router.rewriting.mood import mood, requests
from kds.router.rewriting.text import Piece, align, keys, read_pieces
from kds.router.rewriting.told import Analyse, Fault, Taken, Told


def check(rewrite: str, told: Told, analyse: Analyse) -> Taken | Fault:
    """Judge what a model made of ``told.message``. Never raises."""
    text = rewrite.strip()
    fault = form(text, told)
    if fault is not None:
        return fault
    pieces = read_pieces(text)
    if not pieces:
        return Fault("empty")
    mine = read_pieces(told.message)
    fault = strange(pieces, told)
    if fault is not None:
        return fault
    if keys(pieces) == keys(mine):
        return Taken(text)
    if vague(mine):
        return Fault("too vague")
    leaning = leans(told.message, analyse)
    outcome = _with_names(text, pieces, told, analyse, leaning=leaning)
    if isinstance(outcome, Fault) and leaning:
        return as_sentence(text, pieces, told, analyse) or outcome
    return outcome


def _with_names(
    text: str, pieces: Sequence[Piece], told: Told, analyse: Analyse, *, leaning: bool
) -> Taken | Fault:
    """Judge a rewrite as the message with names in the place of what points back."""
    mine = read_pieces(told.message)
    pairs = align(mine, pieces)
    fault = (
        lost(mine, {i for i, _ in pairs}, told, analyse)
        or turned(mine, pieces, pairs)
        or tenses(mine, pieces, pairs)
        or longer(mine, pieces)
        or brought_in(pieces, {j for _, j in pairs}, told)
        or negated(mine, pieces)
        or mood(told.message, text, analyse)
        or requests(told.message, text, told, analyse, leaning=leaning)
        or pointless(mine, pieces, pairs)
    )
    return fault or Taken(text, longest(text, pieces, {j for _, j in pairs}))
