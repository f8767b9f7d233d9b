"""Reading HTML: headings, paragraphs, lists, tables, lists of terms; no scripts, no navigation.

The page is gone through once, in the order of its text: what begins or ends a block ends the
running text before it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Block, Content, Heading
from kds.brain.documents.heading import read_heading
from kds.readers.drawn_heading import with_drawn_headings
from kds.readers.page_run import Run, line
from kds.readers.page_table import PageTable
from kds.readers.page_tree import INLINE, Event, events, read_tree
from kds.readers.sections import in_sections

_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_IN_HEADING: Final = frozenset({"div", "section", "header", "hgroup"})
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}charset=[\"']?\s*([\w-]{1,40})", re.IGNORECASE)


def charset_of(data: bytes) -> str | None:
    """Return the encoding that the head of a page names."""
    found = _CHARSET.search(data[:4096])
    return found[1].decode("ascii") if found else None


def read_html(text: str, name: str, path: Path | None = None) -> Content:
    """Read a page; ``name`` is its title when it has none.

    Raises DocumentError when that is too much, KdsError without the library.
    """
    soup = read_tree(text, path or Path(name))
    body = soup.find("main") or soup.find("article") or soup.body or soup
    if soup.find("main") is None and len(soup.find_all("article", limit=2)) > 1:
        body = soup.body or soup
    parts = tuple(with_drawn_headings(in_sections(_Page().read(body))))
    title = line(soup.title.get_text()) if soup.title else ""
    first = next((part.heading.text for part in parts if part.heading), "")
    return Content(title or first or name, "html", parts)


@dataclass
class _List:
    """A list that is open: the item that was begun last, and whether it has said anything yet."""

    element: Any
    number: int = 0
    item: Any = None
    is_fresh: bool = False

    def taken(self, block: Block) -> Block:
        """Return what a block is as part of the item."""
        if block.kind != "paragraph" or self.item is None:
            return block
        if not self.is_fresh:
            return replace(block, kind="item")
        mark = f"{self.number}. " if self.element.name == "ol" else "- "
        return replace(block, text=mark + block.text, kind="item", first_line=self.item.sourceline)


@dataclass
class _Terms:
    """A list of terms that is open: the terms that wait for their meaning."""

    element: Any
    terms: list[str] = field(default_factory=list)
    item: Any = None
    is_fresh: bool = False

    def taken(self, block: Block) -> Block:
        """Return what a block is as the meaning of the terms."""
        if not self.is_fresh or not self.terms:
            return block
        terms, self.terms = tuple(self.terms), []
        return replace(block, text=f"{', '.join(terms)}: {block.text}", kind="item", term=terms[0],
                       defines=True, marked=terms, first_line=self.item.sourceline)  # fmt: skip


class _Page:
    """A page that is being read."""

    def __init__(self) -> None:
        self._run = Run()
        self._line: int | None = None
        self._heading: Any = None
        self._lists: list[_List | _Terms] = []
        self._table: PageTable | None = None
        self._pre: tuple[Any, list[str]] | None = None

    def read(self, body: Any) -> Iterator[Heading | Block]:
        """Yield headings and blocks in order."""
        self._line = getattr(body, "sourceline", None)
        for event in events(body):
            yield from self._step(event)
        yield from self._ended()

    def _step(self, event: Event) -> Iterator[Heading | Block]:
        what, one = event
        if self._table is not None:
            yield from self._in_table(self._table, event)
        elif self._pre is not None:
            yield from self._in_pre(*self._pre, event)
        elif what == "text":
            self._run.say(one)
        elif one.name in INLINE:
            (self._run.start if what == "start" else self._run.end)(one)
        elif self._heading is not None and one.name in _IN_HEADING:
            self._run.say(" ")
        elif what == "start":
            yield from self._ended()
            self._begin(one)
        else:
            yield from self._ended()
            yield from self._end(one)

    def _begin(self, one: Any) -> None:
        self._line = one.sourceline
        top = self._lists[-1] if self._lists else None
        if one.name in _HEADINGS and not isinstance(top, _Terms):
            self._heading = one
        elif one.name in ("ul", "ol"):
            self._lists.append(_List(one))
        elif one.name == "dl":
            self._lists.append(_Terms(one))
        elif one.name == "table":
            self._table = PageTable(one)
        elif one.name == "pre":
            self._pre = (one, [])
        elif one.name == "li" and isinstance(top, _List):
            top.item, top.is_fresh = one, True
            top.number += 1
        elif one.name in ("dt", "dd") and isinstance(top, _Terms):
            top.item, top.is_fresh = one, one.name == "dd"

    def _end(self, one: Any) -> Iterator[Block]:
        if one is self._heading:
            self._heading = None
        top = self._lists[-1] if self._lists else None
        if top is None:
            return
        if one is top.item:
            top.item, top.is_fresh = None, False
        elif one is top.element:
            self._lists.pop()
            if isinstance(top, _Terms) and top.terms:
                yield Block(", ".join(top.terms), "item", first_line=one.sourceline)

    def _ended(self) -> Iterator[Heading | Block]:
        """End the running text: it is a heading, a term, or a block."""
        text, lead, marked = self._run.done()
        self._run = Run()
        if not text:
            return
        top = self._lists[-1] if self._lists else None
        if self._heading is not None:
            heading, self._heading = self._heading, None
            yield read_heading(text, int(heading.name[1]), line=heading.sourceline)
        elif isinstance(top, _Terms) and top.item is not None and top.item.name == "dt":
            top.terms.append(text)
        else:
            yield self._placed(Block(text, first_line=self._line, term=lead, marked=marked))

    def _placed(self, block: Block) -> Block:
        """Return a block as part of the lists it stands in; it is the first of what is fresh."""
        for at, one in enumerate(reversed(self._lists)):
            was_fresh = one.is_fresh
            if at and not was_fresh:
                break
            block, one.is_fresh = one.taken(block), False
            if not was_fresh:
                break
        return block

    def _in_table(self, table: PageTable, event: Event) -> Iterator[Block]:
        if event[0] == "end" and event[1] is table.element:
            self._table = None
            yield from map(self._placed, table.blocks())
        else:
            table.take(event)

    def _in_pre(self, element: Any, said: list[str], event: Event) -> Iterator[Block]:
        what, one = event
        if what == "text":
            said.append(one)
        elif what == "end" and one is element:
            self._pre = None
            if text := "".join(said).strip("\n"):
                yield self._placed(Block(text, "code", first_line=element.sourceline))
