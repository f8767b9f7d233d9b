"""Draws what recall each promised precision costs, as an SVG of our own: it needs no library."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from kds.evaluation.chats.precision_curve import CurvePoint

Place = tuple[float, float]
Share = Callable[[CurvePoint], float | None]

WIDTH: Final = 960
HEIGHT: Final = 470
SIDE: Final = 340
"""Pixels of the square that the curves of a panel are drawn in."""
TOP: Final = 50
TICKS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Where a scale is named, as shares of its height."""
HEIGHTS: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Recalls that a scale may end at: on real chats most are small."""

RECALLS: Final[dict[str, Share]] = {
    "all references": lambda point: point.recall,
    "needed, the user named it": lambda point: point.must_recall_user,
    "needed, only a reply named it": lambda point: point.must_recall_assistant,
}
COSTS: Final[dict[str, Share]] = {
    "edits that are right": lambda point: point.precision,
    "turns changed for the worse": lambda point: point.harmed,
    "references written out": lambda point: point.recall,
}
COLOURS: Final = ("#1f77b4", "#d95f02", "#555555")


@dataclass(frozen=True, slots=True)
class _Panel:
    """A square at ``left`` whose scale across ends at 1, and whose scale upwards at ``height``.

    The names of its curves stand ``legend`` pixels from the left, where no curve is.
    """

    left: float
    height: float
    legend: float

    def at(self, place: Place) -> Place:
        """Where a pair of shares stands in the picture."""
        across, up = place
        return self.left + SIDE * across, TOP + SIDE * (1.0 - up / self.height)

    def frame(self, title: str, across: str, up: str) -> Iterable[str]:
        """The scales with their names."""
        left, middle = self.left, self.left + SIDE / 2
        yield _text(middle, TOP - 24, title, "middle", ' font-size="15"')
        for tick in TICKS:
            x, y = self.at((tick, tick * self.height))
            path = f"M{x:g} {TOP}V{TOP + SIDE}M{left:g} {y:g}H{left + SIDE:g}"
            yield f'<path d="{path}" stroke="#ddd"/>'
            yield _text(x, TOP + SIDE + 16, f"{tick:.0%}", "middle")
            yield _text(left - 6, y + 4, f"{tick * self.height:.0%}", "end")
        yield _text(middle, TOP + SIDE + 36, across, "middle")
        x, y = left - 48, TOP + SIDE / 2
        yield _text(x, y, up, "middle", f' transform="rotate(-90 {x:g} {y:g})"')

    def lines(
        self, points: Sequence[CurvePoint], across: Share, lines: Mapping[str, Share]
    ) -> Iterable[str]:
        """The curves with their names; a ring where each of them meets the promise."""
        for row, (name, share) in enumerate(lines.items()):
            colour = COLOURS[row]
            found = [(_place(across(point), share(point)), point.promised) for point in points]
            corners = [self.at(place) for place, _ in found if place]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            for x, y in (self.at(place) for place, promised in found if place and promised):
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
            yield from _legend(self.left + self.legend, row, name)


def curve_svg(points: Sequence[CurvePoint]) -> str:
    """The picture: recall against precision, and beside it what comes of each promise."""
    promised = next(point for point in points if point.promised)
    one, other = _Panel(80, _height(points), SIDE - 190), _Panel(560, 1.0, 10)
    told = (
        f"filled: the promise of {promised.threshold:.0%}, "
        f"{promised.edits} edits, {promised.right} of them right"
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            *one.frame("Recall against precision", "precision: share of edits that are right",
                       "recall: share of references written out"),
            *one.lines(points, lambda point: point.precision, RECALLS),
            *other.frame("What each promise brings", "promised precision", "share"),
            *_promise_line(other, promised),
            *other.lines(points, lambda point: point.threshold, COSTS),
            _text(WIDTH / 2, HEIGHT - 8, told, "middle"),
            "</svg>\n",
        )
    )  # fmt: skip


def _height(points: Sequence[CurvePoint]) -> float:
    """Where the scale of the recalls ends: as low as all of them allow."""
    highest = max(share(point) or 0.0 for point in points for share in RECALLS.values())
    return next(height for height in HEIGHTS if height >= highest)


def _legend(x: float, row: int, name: str) -> Iterable[str]:
    y = TOP + 18 + 16 * row
    yield f'<rect x="{x:g}" y="{y - 9:g}" width="10" height="10" fill="{COLOURS[row]}"/>'
    yield _text(x + 15, y, name, "start")


def _promise_line(panel: _Panel, promised: CurvePoint) -> Iterable[str]:
    x, _ = panel.at((promised.threshold, 0.0))
    yield f'<path d="M{x:.1f} {TOP}V{TOP + SIDE}" stroke="#999" stroke-dasharray="4 3"/>'
    yield _text(x, TOP - 6, f"promised {promised.threshold:.0%}", "middle")


def _place(across: float | None, up: float | None) -> Place | None:
    return None if across is None or up is None else (across, up)


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
