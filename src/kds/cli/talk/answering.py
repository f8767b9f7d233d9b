"""How an answer is shown as it comes: `kds ask` and `kds chat`."""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from kds.brain.context.work import Offer
from kds.brain.errors import KdsError
from kds.cli.guard import complain, complain_about
from kds.cli.palette import coloured, toned
from kds.cli.terminal import harmless
from kds.session.answer import Answer

NO_ANSWER: Final = 3
"""Exit code when the model did not answer; the message is kept, and can be asked again."""

WAITING: Final = "waiting for the answer"

_FENCE: Final = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_BLANK: Final = "\n\n"


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


class Prose:
    """What is said piece by piece. ``rendered``: as Markdown, else as it stands.

    ``before`` is called before anything is printed.
    """

    def __init__(self, before: Callable[[], None], *, rendered: bool) -> None:
        self._before = before
        self._rendered = rendered
        self._waiting = ""
        self._said = ""

    def add(self, piece: str) -> None:
        """Print a piece, or what it completes."""
        self._said += piece
        if not self._rendered:
            self._before()
            click.echo(piece, nl=False)
            sys.stdout.flush()
            return
        whole, gap, rest = (self._waiting + piece).rpartition(_BLANK)
        if gap and len(_FENCE.findall(whole)) % 2 == 0:  # a block of code stays in one piece
            self._render(whole)
            self._waiting = rest
        else:
            self._waiting += piece

    def end(self) -> None:
        """Print what is left, and end the line."""
        if self._rendered:
            self._render(self._waiting)
            self._waiting = ""
        elif self._said and not self._said.endswith("\n"):
            click.echo()

    def _render(self, text: str) -> None:
        if not text.strip():
            return
        self._before()
        from rich.console import Console  # 0.1 s of imports: for who has a model and a terminal
        from rich.markdown import Markdown

        console = Console(no_color=not coloured(), emoji=False)
        console.print(Markdown(text.strip("\n"), hyperlinks=False))
        console.print()
