"""HTML: headings, paragraphs, lists, tables, lists of terms; no scripts, no navigation.

lxml parses the page, which is walked once in the order of its text: whatever begins or ends a block
ends the running text before it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Block, Content, Heading, read_heading
from kds.brain.installation import load_extra
from kds.readers.sections import (
    JOINED,
    DocumentError,
    Row,
    document_errors,
    first_heading,
    in_sections,
    row_blocks,
)
from kds.readers.text import with_drawn_headings

MAX_ELEMENTS: Final = 500_000
"""Of a page: the largest of books on one page have a tenth of that."""

_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_IN_HEADING: Final = frozenset({"div", "section", "header", "hgroup"})
_INLINE: Final = frozenset(
    "a abbr b bdi bdo br cite code data del dfn em i ins kbd label mark q s samp small span strong "
    "sub sup time tt u var wbr img font".split()
)
_DROPPED: Final = frozenset(
    "script style noscript template svg math nav footer aside form button select input textarea "
    "iframe object canvas audio video dialog head title meta link".split()
)
_ROLES: Final = frozenset({"navigation", "search", "banner", "contentinfo", "complementary"})
_MARKS: Final = frozenset({"strong", "b", "dfn", "em", "i"})
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}charset=[\"']?\s*([\w-]{1,40})", re.IGNORECASE)


def charset_of(data: bytes) -> str | None:
    """Return the encoding that the head of a page names."""
    found = _CHARSET.search(data[:4096])
    return found[1].decode("ascii") if found else None


def read_html(text: str, name: str, path: Path | None = None) -> Content:
    """Read a page; ``name`` is its title when it has none.

    Raises DocumentError for a page beyond the limits, KdsError without the library.
    """
    root = _parsed(text, path or Path(name))
    if root is None:
        return Content(name, "html", ())
    body = root.find(".//main")
    if body is None:
        articles = root.findall(".//article")
        body = articles[0] if len(articles) == 1 else root.find("body")
    found = _Page().read(root if body is None else body)
    parts = tuple(with_drawn_headings(in_sections(found)))
    title = _line(root.findtext(".//title") or "")
    return Content(title or first_heading(parts) or name, "html", parts)


def _parsed(text: str, path: Path) -> Any:
    """Return the tree of a page, None for an empty one."""
    etree = load_extra("lxml.etree", extra="docs", purpose="read HTML")
    if text.count("<") > MAX_ELEMENTS:
        raise _too_much(path, f"has more than {MAX_ELEMENTS:,} elements")
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True
    )
    data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
    with document_errors(path, "HTML that cannot be read"):
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError:  # nothing in it but white space and comments
            return None
    if any("Excessive depth" in error.message for error in parser.error_log):
        raise _too_much(path, "has more than 2,000 elements inside each other")
    return root


def _too_much(path: Path, message: str) -> DocumentError:
    return DocumentError(path, message, "split it, or save it as plain text")


@dataclass
class _Run:
    """The running text between two blocks, and which of its words are in bold."""

    line: int | None = None
    pieces: list[str] = field(default_factory=list)
    lead: str = ""
    """Marked words that it begins with."""
    marked: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return _line("".join(self.pieces))


@dataclass
class _Item:
    """An open entry of a list, and whether it still waits for its first block."""

    element: Any
    mark: str
    is_fresh: bool = True


class _Page:
    """A page that is being read."""

    def __init__(self) -> None:
        self._run = _Run()
        self._marks = 0
        self._heading: Any = None
        self._items: list[_Item] = []
        self._numbers: Counter[Any] = Counter()
        self._terms: list[str] = []
        """Terms of a list of terms that wait for their meaning."""

    def read(self, body: Any) -> Iterator[Heading | Block]:
        """Yield headings and blocks in order."""
        walk = _walk(body)
        for event, one in walk:
            if event == "start":
                if one is not body and _is_dropped(one):
                    walk.skip_subtree()
                elif one.tag in _INLINE:
                    self._begin_inline(one)
                elif one.tag in ("table", "pre"):
                    yield from self._ended()
                    walk.skip_subtree()
                    yield from map(self._placed, _whole(one))
                elif self._heading is not None and one.tag in _IN_HEADING:
                    self._run.pieces.append(f" {one.text or ''}")
                else:
                    yield from self._ended()
                    self._begin(one)
            else:
                yield from self._end(one)
                if one is not body and one.tail:
                    self._run.pieces.append(one.tail)
        yield from self._ended()

    def _begin_inline(self, one: Any) -> None:
        run = self._run
        if one.tag == "br":
            run.pieces.append("\n")
        if one.tag in _MARKS or one.tag == "code":
            said = _line("".join(one.itertext())) if not self._marks else ""
            if said and not run.lead and not run.text:
                run.lead = said
            if one.tag in _MARKS:
                run.marked += [said] if said else []
                self._marks += 1
        run.pieces.append(one.text or "")

    def _begin(self, one: Any) -> None:
        in_terms = bool(self._items) and self._items[-1].element.tag in ("dt", "dd")
        if one.tag in _HEADINGS and not in_terms:
            self._heading = one
        elif one.tag == "li":
            parent = one.getparent()
            self._numbers[parent] += 1
            mark = f"{self._numbers[parent]}. " if parent.tag == "ol" else "- "
            self._items.append(_Item(one, mark))
        elif one.tag in ("dt", "dd"):
            self._items.append(_Item(one, ""))
        self._run.line = one.sourceline
        self._run.pieces.append(one.text or "")

    def _end(self, one: Any) -> Iterator[Heading | Block]:
        if one.tag in _INLINE:
            self._marks -= one.tag in _MARKS
            return
        if _is_dropped(one):
            return
        if self._heading is not None and one is not self._heading:
            self._run.pieces.append(" ")
            return
        yield from self._ended()
        self._heading = None
        if self._items and self._items[-1].element is one:
            self._items.pop()
        elif one.tag == "dl" and self._terms:
            yield Block(", ".join(self._terms), "item", first_line=one.sourceline)
            self._terms = []

    def _ended(self) -> Iterator[Heading | Block]:
        """End the running text: it is a heading, a term, or a block."""
        run, self._run = self._run, _Run(self._run.line)
        text = run.text
        if not text:
            return
        if self._heading is not None:
            heading, self._heading = self._heading, None
            yield read_heading(text, int(heading.tag[1]), line=heading.sourceline)
        elif self._items and self._items[-1].element.tag == "dt":
            self._terms.append(text)
        else:
            block = Block(text, first_line=run.line, term=run.lead, marked=tuple(run.marked))
            yield self._placed(block)

    def _placed(self, block: Block) -> Block:
        """Return a block as part of the lists that it stands in."""
        for depth, item in enumerate(reversed(self._items)):
            if depth and not item.is_fresh:
                break
            block = self._taken(block, item)
            was_fresh, item.is_fresh = item.is_fresh, False
            if not was_fresh:
                break
        return block

    def _taken(self, block: Block, item: _Item) -> Block:
        line = item.element.sourceline if item.is_fresh else block.first_line
        if item.element.tag == "li":
            mark = item.mark if item.is_fresh else ""
            is_text = block.kind == "paragraph"
            return replace(block, text=mark + block.text, kind="item", first_line=line) \
                if is_text else block  # fmt: skip
        if not item.is_fresh or not self._terms:
            return block
        terms, self._terms = tuple(self._terms), []
        return replace(block, text=f"{', '.join(terms)}: {block.text}", kind="item",
                       term=terms[0], defines=True, marked=terms, first_line=line)  # fmt: skip


def _walk(body: Any) -> Any:
    etree = load_extra("lxml.etree", extra="docs", purpose="read HTML")
    return etree.iterwalk(body, events=("start", "end"))


def _is_dropped(one: Any) -> bool:
    if one.tag in _DROPPED or one.get("role") in _ROLES:
        return True
    return one.get("hidden") is not None or one.get("aria-hidden") == "true"


def _whole(one: Any) -> Iterator[Block]:
    """Yield the blocks of a table or of preformatted text."""
    if one.tag == "pre":
        if text := "".join(one.itertext()).strip("\n"):
            yield Block(text, "code", first_line=one.sourceline)
        return
    if (caption := one.find("caption")) is not None and (text := _cell(caption)):
        yield Block(text, first_line=caption.sourceline)
    rows: list[Row] = []
    headed = None
    for row in one.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr"):
        cells = tuple(map(_cell, row))
        if any(cells):
            headed = all(cell.tag == "th" for cell in row) if headed is None else headed
            rows.append(Row(cells, JOINED.join(cells), row.sourceline))
    yield from row_blocks(rows, headed=bool(headed))


def _cell(one: Any) -> str:
    """Return the text of a cell in one line; a table inside it is text, too."""
    return _line("".join(f" {text}" if between else text for text, between in _texts(one)))


def _texts(cell: Any) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a cell, and whether each stands apart from the one before it."""
    walk = _walk(cell)
    for event, one in walk:
        apart = one.tag not in _INLINE or one.tag == "br"
        if event == "end":
            if one is not cell and one.tail:
                yield one.tail, apart
        elif one is not cell and _is_dropped(one):
            walk.skip_subtree()
        elif one.text or apart:
            yield one.text or "", apart


def _line(text: str) -> str:
    return " ".join(text.split())
