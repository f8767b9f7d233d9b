"""The tree of a page, made within limits, and walked once in the order of the text.

The parser of the standard library ends no element that its author left open. Where HTML says
that the next one ends it (`<li>`, `<td>`, `<p>`), it is ended here: else a list of a thousand items
is a thousand elements inside each other.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from kds.brain.installation import load_extra
from kds.brain.patience import Patience
from kds.readers.error import DocumentError, foreign

MAX_DEEP: Final = 10_000
"""Elements inside each other; written by hand there are some dozens."""

MAX_ELEMENTS: Final = 500_000
"""Of a page: the largest of books on one page have a tenth of that."""

MAX_SECONDS: Final = 30.0
"""A page of 1 MB takes one or two."""

Event = tuple[Literal["start", "text", "end"], Any]

INLINE: Final = frozenset(
    "a abbr b bdi bdo br cite code data del dfn em i ins kbd label mark q s samp small span strong "
    "sub sup time tt u var wbr img font".split()
)
_DROPPED: Final = frozenset(
    "script style noscript template svg math nav footer aside form button select input textarea "
    "iframe object canvas audio video dialog head title meta link".split()
)
_ROLES: Final = frozenset({"navigation", "search", "banner", "contentinfo", "complementary"})
_ENDS_PARAGRAPH: Final = frozenset(
    "p h1 h2 h3 h4 h5 h6 ul ol dl table pre div section article main header footer nav aside "
    "blockquote hr form address figure details".split()
)
_ENDED_BY: Final = {
    "p": _ENDS_PARAGRAPH | {"li", "dt", "dd", "td", "th", "tr"},
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": frozenset({"td", "th", "tr", "tbody", "tfoot"}),
    "th": frozenset({"td", "th", "tr", "tbody", "tfoot"}),
    "tr": frozenset({"tr", "tbody", "tfoot"}),
    "option": frozenset({"option", "optgroup"}),
}
"""Elements that need no end, and what begins behind them."""


def read_tree(text: str, path: Path) -> Any:
    """Parse a page. Raises DocumentError when that is too much, KdsError without the library."""
    soup_module = load_extra("bs4", extra="docs", purpose="read HTML")
    if text.count("<") > MAX_ELEMENTS:
        raise _too_much(path, f"has more than {MAX_ELEMENTS:,} elements")
    patience = Patience(MAX_SECONDS)
    with foreign(path, "is no HTML that can be read"):
        return _soup_class(soup_module)(_closed(text), "html.parser", path=path, patience=patience)


@cache
def _soup_class(soup_module: Any) -> Any:
    base: Any = soup_module.BeautifulSoup

    class LimitedSoup(base):  # type: ignore[misc]  # the library is loaded late
        """A tree whose open elements end where HTML says, and that stops where it is too much."""

        def __init__(self, *arguments: Any, path: Path, patience: Patience) -> None:
            self._kds_path, self._kds_patience = path, patience
            super().__init__(*arguments)

        def handle_starttag(self, name: str, *arguments: Any, **named: Any) -> Any:
            self._check()
            self.endData()
            while name in _ENDED_BY.get(self.currentTag.name, ()):
                self.popTag()
            return super().handle_starttag(name, *arguments, **named)

        def handle_data(self, data: str) -> None:
            self._check()
            super().handle_data(data)

        def _check(self) -> None:
            if len(self.tagStack) > MAX_DEEP:
                raise _too_much(
                    self._kds_path, f"has more than {MAX_DEEP:,} elements inside each other"
                )
            if self._kds_patience.is_over:
                raise _too_much(self._kds_path, f"takes longer than {MAX_SECONDS:g} s to read")

    return LimitedSoup


def _closed(text: str) -> str:
    """Return a page without beginnings that have no end: the parser looks for each one's anew."""
    for start, end in (("<!--", "-->"), ("<", ">")):
        last = text.rfind(end) + len(end) if end in text else 0
        text = text[:last] + text[last:].replace(start, f"&lt;{start[1:]}")
    return text


def _too_much(path: Path, message: str) -> DocumentError:
    return DocumentError(path, message, "split it, or save it as plain text")


def events(root: Any) -> Iterator[Event]:
    """Yield what a reader of the page sees inside an element: beginnings, texts and ends."""
    open_elements: list[tuple[Any, Iterator[Any]]] = [(root, iter(root.contents))]
    while open_elements:
        element, children = open_elements[-1]
        child = next(children, None)
        if child is None:
            open_elements.pop()
            if open_elements:
                yield "end", element
        elif getattr(child, "name", None) is None:
            if type(child).__name__ == "NavigableString":  # no comment, no declaration
                yield "text", str(child)
        elif child.name == "br":
            yield "text", "\n"
            open_elements.append((child, iter(child.contents)))
        elif not _is_dropped(child):
            yield "start", child
            open_elements.append((child, iter(child.contents)))


def _is_dropped(child: Any) -> bool:
    if child.name in _DROPPED or child.get("role") in _ROLES:
        return True
    return bool(child.has_attr("hidden") or child.get("aria-hidden") == "true")
