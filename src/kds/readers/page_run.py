"""The running text of a page between two blocks, and which of its words are in bold."""

from typing import Any, Final

_MARKS: Final = frozenset({"strong", "b", "dfn", "em", "i"})
_LEADS: Final = _MARKS | {"code"}


class Run:
    """Text that is being gathered."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_blank = True
        self._marked: list[str] = []
        self._mark: tuple[Any, int] | None = None
        self._lead: tuple[Any, int] | None = None
        self._lead_text = ""

    def say(self, text: str) -> None:
        """Go on with a text."""
        self._pieces.append(text)
        self._is_blank = self._is_blank and not text.strip()

    def start(self, element: Any) -> None:
        """Go on with an element in the line; of those inside each other the outermost counts."""
        place = (element, len(self._pieces))
        if self._mark is None and element.name in _MARKS:
            self._mark = place
        if self._lead is None and self._is_blank and element.name in _LEADS:
            self._lead = place

    def end(self, element: Any) -> None:
        """End an element in the line."""
        if self._mark is not None and self._mark[0] is element:
            if text := self._since(self._mark):
                self._marked.append(text)
            self._mark = None
        if self._lead is not None and self._lead[0] is element and not self._lead_text:
            self._lead_text = self._since(self._lead)
            if self._is_blank:
                self._lead = None

    def done(self) -> tuple[str, str, tuple[str, ...]]:
        """Return the text, the marked words it begins with, and all marked words."""
        for one in (self._mark, self._lead if not self._lead_text else None):
            if one is not None:
                self.end(one[0])
        return line("".join(self._pieces)), self._lead_text, tuple(self._marked)

    def _since(self, place: tuple[Any, int]) -> str:
        return line("".join(self._pieces[place[1] :]))


def line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())
