"""Text as lines, with where each stands: what plain text and pages of a PDF have in common."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; blank ones stand between paragraphs."""

    text: str
    number: int | None = None
    page: int | None = None

    @property
    def blank(self) -> bool:
        """Whether nothing is on it."""
        return not self.text.strip()


def numbered(texts: Iterable[str]) -> list[Line]:
    """Return the lines of a text, numbered from 1."""
    return [Line(text.expandtabs(4).rstrip(), number) for number, text in enumerate(texts, start=1)]
