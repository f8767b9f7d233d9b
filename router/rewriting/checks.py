"""Whether a rewrite that a model made can be taken for the message: it says the same, and says
it alone.

A rewrite is the message with what it points to written out: its own words come back in their
order, and what comes in was said before. A message that leans on a whole sentence ("What about
the sublease?") is that sentence with the message's words in it (`leaning`). Everything else is
turned down by name, however good it sounds: an answer, a new name, another request.
"""

from typing import Final

from kds.router.rewriting.changes import (
    brought_in,
    longer,
    lost,
    negated,
    pointless,
    strange,
    tenses,
    turned,
)
from kds.router.rewriting.comparison import Check, Comparison, Reading, first_fault
from kds.router.rewriting.form import form
from kds.router.rewriting.leaning import as_sentence, leans
from kds.router.rewriting.mood import mood, requests
from kds.router.rewriting.told import Analyse, Fault, Taken, Told

_WITH_NAMES: Final[tuple[Check, ...]] = (
    lost, turned, tenses, longer, brought_in, negated, mood, requests, pointless,
)  # fmt: skip
"""What must hold of a rewrite that is the message with names in the place of what points back."""


def check(rewrite: str, told: Told, analyse: Analyse) -> Taken | Fault:
    """Judge what a model made of ``told.message``. Never raises."""
    after, message = Reading(rewrite.strip(), analyse), Reading(told.message, analyse)
    fault = form(after.text, told)
    if fault is None and not after.pieces:
        fault = Fault("empty")
    if fault is not None or (fault := strange(after.pieces, told)) is not None:
        return fault
    if after.keys == message.keys:
        return Taken(after.text)
    whole = Comparison(message, after, told, leaning=leans(message))
    if not whole.content:  # "do it", "and that?": whatever comes in, nothing of it holds it
        return Fault("too vague")
    fault = first_fault(whole, _WITH_NAMES)
    if fault is None:
        return Taken(after.text, whole.longest)
    return (as_sentence(message, after, told) if whole.leaning else None) or fault
