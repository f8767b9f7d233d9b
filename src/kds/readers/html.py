"""HTML: headings, paragraphs, lists, tables, lists of terms; no scripts, no navigation.

lxml parses the page and takes out of it what is not seen. Elements inside a line become signs in
its text, so that all that are left begin and end blocks: these are walked once, in order.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.values import Block, Content, Heading, read_heading
from kds.brain.installation import load_extra
from kds.readers.text import (
    JOINED,
    DocumentError,
    Row,
    document_errors,
    first_heading,
    marked_parts,
    row_blocks,
)

MAX_ELEMENTS: Final = 500_000
"""Of a page: the largest of books on one page have a tenth of that."""

_HEADINGS: Final = frozenset("h1 h2 h3 h4 h5 h6".split())
_IN_HEADING: Final = frozenset("div section header hgroup".split())
_MARKS: Final = ("strong", "b", "dfn", "em", "i")
_INLINE: Final = (
    *_MARKS, *"a abbr bdi bdo br cite code data del font img ins kbd label mark q s samp small "
    "span sub sup time tt u var wbr".split(),
)  # fmt: skip
_DROPPED: Final = (
    "script style noscript template svg math nav footer aside form button select input textarea "
    "iframe object canvas audio video dialog head title meta link"
).split()
_ROLES: Final = frozenset({"navigation", "search", "banner", "contentinfo", "complementary"})
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}charset=[\"']?\s*([\w-]{1,40})", re.IGNORECASE)

_MARK, _CODE, _END = "\ue000", "\ue001", "\ue002"
"""Signs in a text where marked words and code begin, and where they end."""
_SIGNS: Final = re.compile(f"[{_MARK}{_CODE}{_END}]")
_SIGNED: Final = re.compile(f"([{_MARK}{_CODE}])([^{_MARK}{_CODE}{_END}]*){_END}")


def charset_of(data: bytes) -> str | None:
    """Return the encoding that the head of a page names."""
    found = _CHARSET.search(data[:4096])
    return found[1].decode("ascii") if found else None


def read_html(text: str, name: str, path: Path | None = None) -> Content:
    """Read a page; ``name`` is its title when it has none.

    Raises DocumentError for a page beyond the limits, KdsError without the library.
    """
    etree = load_extra("lxml.etree", extra="docs", purpose="read HTML")
    root = _parsed(etree, _SIGNS.sub(" ", text), path or Path(name))
    if root is None:
        return Content(name, "html", ())
    title = _line(root.findtext(".//title") or "")
    _simplify(etree, root)
    body = root.find(".//main")
    if body is None:
        articles = root.findall(".//article")
        body = articles[0] if len(articles) == 1 else root.find("body")
    walk = etree.iterwalk(root if body is None else body, events=("start", "end"))
    parts = marked_parts(_Page().read(walk))
    return Content(title or first_heading(parts) or name, "html", parts)


def _parsed(etree: Any, text: str, path: Path) -> Any:
    """Return the tree of a page, None for an empty one."""
    hint = "split it, or save it as plain text"
    if text.count("<") > MAX_ELEMENTS:
        raise DocumentError(path, f"has more than {MAX_ELEMENTS:,} elements", hint)
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
        raise DocumentError(path, "has more than 2,000 elements inside each other", hint)
    return root


def _simplify(etree: Any, root: Any) -> None:
    """Leave what is seen, with signs in the text in place of elements inside a line."""
    for one in root.iter():
        unseen = one.get("hidden") is not None or one.get("aria-hidden") == "true"
        if (unseen or one.get("role") in _ROLES) and one.tag not in ("html", "body"):
            one.tag = _DROPPED[0]
    etree.strip_elements(root, *_DROPPED, with_tail=False)
    depth = 0
    for event, one in etree.iterwalk(root, events=("start", "end"), tag=(*_MARKS, "code")):
        depth -= event == "end"
        if not depth and event == "end":
            one.tail = _END + (one.tail or "")
        elif not depth:
            one.text = (_CODE if one.tag == "code" else _MARK) + (one.text or "")
        depth += event == "start"
    for one in root.iter("br"):
        one.tail = "\n" + (one.tail or "")
    etree.strip_tags(root, *_INLINE)


class _Item:
    """An open entry of a list, and whether it still waits for its first block."""

    def __init__(self, element: Any, mark: str) -> None:
        self.element, self.mark, self.is_fresh = element, mark, True


class _Page:
    """A page that is being read: the running text since the last block, and the open lists."""

    def __init__(self) -> None:
        self._first_line: int | None = None
        self._pieces: list[str] = []
        self._heading: Any = None
        self._items: list[_Item] = []
        self._numbers: Counter[Any] = Counter()
        self._terms: list[str] = []
        """Terms of a list of terms that wait for their meaning."""

    def read(self, walk: Any) -> Iterator[Heading | Block]:
        """Yield headings and blocks in order."""
        body = None
        for event, one in walk:
            body = one if body is None else body
            if event == "end":
                yield from self._end(one)
                if one is not body and one.tail:
                    self._pieces.append(one.tail)
            elif one.tag in ("table", "pre"):
                yield from self._ended()
                walk.skip_subtree()
                blocks = _table(one) if one.tag == "table" else _listing(one)
                yield from map(self._placed, blocks)
            elif self._heading is not None and one.tag in _IN_HEADING:
                self._pieces.append(f" {one.text or ''}")
            else:
                yield from self._ended()
                self._begin(one)
        yield from self._ended()

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
        self._first_line = one.sourceline
        self._pieces.append(one.text or "")

    def _end(self, one: Any) -> Iterator[Heading | Block]:
        if self._heading is not None and one is not self._heading:
            self._pieces.append(" ")
        else:
            yield from self._ended()
            self._heading = None
            if self._items and self._items[-1].element is one:
                self._items.pop()
            elif one.tag == "dl" and self._terms:
                yield Block(", ".join(self._terms), "item", first_line=one.sourceline)
                self._terms = []

    def _ended(self) -> Iterator[Heading | Block]:
        """End the running text: it is a heading, a term, or a block."""
        said = "".join(self._pieces).strip()
        text, self._pieces = said and _line(said), []
        if not text:
            return
        if self._heading is not None:
            heading, self._heading = self._heading, None
            yield read_heading(text, int(heading.tag[1]), line=heading.sourceline)
        elif self._items and self._items[-1].element.tag == "dt":
            self._terms.append(text)
        else:
            signed = [(one.start(), one[1], _line(one[2])) for one in _SIGNED.finditer(said)]
            lead = next((words for start, _, words in signed if not start), "")
            marked = tuple(words for _, sign, words in signed if words and sign == _MARK)
            yield self._placed(Block(text, first_line=self._first_line, term=lead, marked=marked))

    def _placed(self, block: Block) -> Block:
        """Return a block as part of the lists that it stands in."""
        for depth, item in enumerate(reversed(self._items)):
            fresh, item_line = item.is_fresh, item.element.sourceline
            if depth and not fresh:
                break
            item.is_fresh = False
            if item.element.tag == "li":
                if block.kind == "paragraph":
                    block = replace(
                        block,
                        text=(item.mark if fresh else "") + block.text,
                        kind="item",
                        first_line=item_line if fresh else block.first_line,
                    )
            elif fresh and self._terms:
                terms, self._terms = tuple(self._terms), []
                text = f"{', '.join(terms)}: {block.text}"
                block = replace(block, text=text, kind="item", term=terms[0], defines=True,
                                marked=terms, first_line=item_line)  # fmt: skip
            if not fresh:
                break
        return block


def _listing(one: Any) -> Iterator[Block]:
    if text := _SIGNS.sub("", "".join(one.itertext())).strip("\n"):
        yield Block(text, "code", first_line=one.sourceline)


def _table(one: Any) -> Iterator[Block]:
    if (caption := one.find("caption")) is not None and (text := _cell(caption)):
        yield Block(text, first_line=caption.sourceline)
    found = one.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr")
    filled = [(row, cells) for row in found if any(cells := tuple(map(_cell, row)))]
    headed = bool(filled) and all(cell.tag == "th" for cell in filled[0][0])
    rows = [Row(cells, JOINED.join(cells), row.sourceline) for row, cells in filled]
    yield from row_blocks(rows, headed=headed)


def _cell(cell: Any) -> str:
    """Return the text of a cell in one line; a table inside it is text, too."""
    return _line(" ".join(cell.itertext()))


def _line(text: str) -> str:
    return " ".join(_SIGNS.sub("", text).split())
