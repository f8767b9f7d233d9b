"""A model's answer on a terminal: Markdown, rendered paragraph by paragraph as it comes."""

import re
import sys
from collections.abc import Callable
from typing import Final

import click

from kds.cli.palette import coloured

_FENCE: Final = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_BLANK: Final = "\n\n"


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
