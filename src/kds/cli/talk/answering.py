"""How an answer is shown as it comes: `kds ask` and `kds chat`."""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from kds.brain.context.work import Offer
from kds.brain.errors import KdsError
from kds.cli.guard import complain, complain_about
from kds.cli.palette import toned
from kds.cli.talk.prose import Prose
from kds.session.answer import Answer

NO_ANSWER: Final = 3
"""Exit code when the model did not answer; the message is kept, and can be asked again."""

WAITING: Final = "waiting for the answer"

_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Controls but tab and line feed, and those of the direction of text: neither a model nor a
document must move the cursor, set the clipboard, or show words in another order."""


def harmless(text: str) -> str:
    r"""Return ``text`` without what a terminal obeys.

    >>> harmless("red\x1b[31m\n")
    'red[31m\n'
    """
    return _UNSAFE.sub("", text)


def show_stream(
    pieces: Iterator[str | Answer], arrived: Callable[[], None], *, rendered: bool = False
) -> Answer:
    """Print the pieces as they come, and return the answer they make.

    ``arrived`` is called before the first one is printed. ``rendered``: as Markdown, a paragraph
    at a time.

    What only stands in the answer because no model gave one (its prompt, after an error) is
    not printed.
    """
    prose = Prose(arrived, rendered=rendered)
    for piece in pieces:
        if isinstance(piece, Answer):
            arrived()
            prose.end()
            tell_noted(piece)
            return piece
        prose.add(harmless(piece))
    raise AssertionError("an exchange ends with its answer")


def tell_noted(answer: Answer) -> None:
    """Tell on stderr what was noted of a correction."""
    if answer.turn.noted:
        complain(f"noted: {answer.turn.noted}")


def tell_about(answer: Answer, *, has_model: bool) -> None:
    """Tell on stderr what else there is to an answer: what went wrong, and what may come next."""
    for note in answer.notes:
        if answer.error is None or answer.error.message not in note:
            complain(note)
    if answer.error is not None:
        complain_about(_with_way_on(answer.error))
    if not sys.stderr.isatty():
        return
    if not has_model and answer.replies:
        _hint("no model is set, so this is the prompt for one: set KDS_MODEL to have it answered")
    elif answer.handoffs and not answer.question:
        _hint(f"next: {_offered(answer.handoffs[0])}; say 'go ahead'")


def _with_way_on(error: KdsError) -> KdsError:
    way = "the message is kept: `kds ask continue` asks again"
    hint = f"{error.hint}; {way}" if error.hint else way
    return KdsError(error.message, where=error.where, hint=hint)


def _offered(offer: Offer) -> str:
    because = f", since {offer.reason}" if offer.reason else ""
    return f"{offer.intent} ({offer.agent}){because}"


def _hint(text: str) -> None:
    click.echo(toned(text, "label", err=True), err=True)
