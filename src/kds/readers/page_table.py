"""A table of a page: its rows and cells, taken from what the page says in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kds.brain.documents.content import Block
from kds.readers.page_tree import INLINE, Event
from kds.readers.tables import JOINED, Row, row_blocks


@dataclass
class PageTable:
    """A table that is being read; one inside a cell is text of that cell."""

    element: Any
    caption: Any = None
    caption_text: list[str] = field(default_factory=list)
    rows: list[tuple[Any, list[tuple[str, list[str]]]]] = field(default_factory=list)
    inner: int = 0
    place: list[str] | None = None
    """Where text goes: the cell, or the caption."""

    def take(self, event: Event) -> None:
        """Read on."""
        what, one = event
        if what == "text":
            self._say(one)
            return
        if one.name not in INLINE:
            self._say(" ")
        if one.name == "table":
            self.inner += 1 if what == "start" else -1
        elif self.inner:
            return
        elif what == "start":
            self._begin(one)
        elif one.name in ("td", "th", "caption"):
            self.place = None

    def blocks(self) -> Iterator[Block]:
        """Yield the caption and the rows."""
        if caption := _line(self.caption_text):
            yield Block(caption, first_line=self.caption.sourceline)
        kept: list[Row] = []
        headed: bool | None = None
        for element, cells in self.rows:
            texts = tuple(_line(text) for _, text in cells)
            if not any(texts):
                continue
            if headed is None:
                headed = all(name == "th" for name, _ in cells)
            kept.append(Row(texts, JOINED.join(texts), element.sourceline, element.sourceline))
        yield from row_blocks(kept, headed=bool(headed))

    def _begin(self, element: Any) -> None:
        if element.name == "tr":
            self.rows.append((element, []))
            self.place = None
        elif element.name in ("td", "th"):
            if not self.rows:
                self.rows.append((element, []))
            self.place = []
            self.rows[-1][1].append((element.name, self.place))
        elif element.name == "caption" and self.caption is None:
            self.caption, self.place = element, self.caption_text

    def _say(self, text: str) -> None:
        if self.place is not None:
            self.place.append(text)


def _line(texts: list[str]) -> str:
    return " ".join("".join(texts).split())
