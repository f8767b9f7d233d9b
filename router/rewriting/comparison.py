"""A text beside what a rewrite made of it, read and aligned once: every check looks at this."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kds.router.language.words import Analysis, Clause
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.text import Piece, align, keys, read_pieces, straight
from kds.router.rewriting.told import Analyse, Fault, Told


@dataclass(frozen=True)
class Reading:
    """A text, with what is found out about it when it is first asked for."""

    text: str
    analyse: Analyse

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Its words, names, numbers and code."""
        return read_pieces(self.text)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Their keys."""
        return keys(self.pieces)

    @cached_property
    def straight(self) -> str:
        """The text that the offsets of its pieces are in."""
        return straight(self.text)

    @cached_property
    def analysis(self) -> Analysis:
        """Its words, phrases and clauses."""
        return self.analyse(self.text)

    @cached_property
    def clauses(self) -> tuple[tuple[int, Clause], ...]:
        """Its clauses that have a verb, each with the position of that among the words."""
        return tuple((one.verb, one) for one in self.analysis.clauses if one.verb is not None)

    @cached_property
    def wish_end(self) -> int:
        """Where the wish around an order ends ("could you please"); 0 when there is none."""
        polite = known.POLITE.match(self.straight)
        return polite.end() if polite else 0

    @cached_property
    def mood(self) -> str:
        """What it is: "question", "imperative", "statement", or "fragment" without a verb."""
        if self.text.rstrip(" \"')”’").endswith("?"):
            return "question"
        return next((one.mood for _, one in self.clauses if not one.subordinate), "fragment")


@dataclass(frozen=True)
class Comparison:
    """``before`` is the message, or a sentence that it leans on; ``after`` is the rewrite."""

    before: Reading
    after: Reading
    told: Told
    leaning: bool = False
    """Whether ``before`` is a message that is no sentence of its own."""
    fragment: tuple[Piece, ...] = ()
    """What the message adds to ``before``, where that is a sentence it leans on."""
    inside: frozenset[int] = frozenset()
    """Where the pieces of the fragment stand in the rewrite."""

    @cached_property
    def theirs(self) -> tuple[Piece, ...]:
        """The pieces of the rewrite that are compared: all but those of the fragment."""
        return tuple(one for j, one in enumerate(self.after.pieces) if j not in self.inside)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Positions of what both have, in ``before`` and in `theirs`."""
        return align(self.before.pieces, self.theirs)

    @cached_property
    def kept(self) -> frozenset[int]:
        """Positions in ``before`` of what came back."""
        return frozenset(i for i, _ in self.pairs)

    @cached_property
    def taken(self) -> frozenset[int]:
        """Positions in `theirs` of what was there before."""
        return frozenset(j for _, j in self.pairs)

    @cached_property
    def content(self) -> tuple[int, ...]:
        """Positions in ``before`` of what may not be missing."""
        return tuple(i for i, piece in enumerate(self.before.pieces) if not may_go(piece, i))

    @cached_property
    def runs(self) -> tuple[range, ...]:
        """Positions in `theirs` of what was brought in, place by place."""
        return tuple(self._runs())

    def _runs(self) -> Iterator[range]:
        ends = [-1, *sorted(self.taken), len(self.theirs)]
        for start, end in pairwise(ends):
            if end - start > 1:
                yield range(start + 1, end)

    @cached_property
    def longest(self) -> str:
        """The longest phrase that was brought in, without the words that join it."""
        found = ""
        for run in self.runs:
            inner = [j for j in run if self.theirs[j].key not in known.JOINING]
            if inner:
                start, end = self.theirs[inner[0]].start, self.theirs[inner[-1]].end
                found = max(found, self.after.straight[start:end], key=len)
        return found


Check = Callable[[Comparison], Fault | None]
"""Why a rewrite cannot be taken, as far as one check goes."""


def first_fault(comparison: Comparison, checks: tuple[Check, ...]) -> Fault | None:
    """The fault of the first check that finds one."""
    return next((fault for check in checks if (fault := check(comparison)) is not None), None)


def may_go(piece: Piece, i: int) -> bool:
    """Whether the piece at ``i`` may be missing: it points back, fills, or goes with another."""
    if piece.key in known.NEGATIONS:
        return i == 0 and piece.key == "no"
    if piece.kind in ("number", "code"):
        return False
    return piece.key in known.POINTING | known.FILLING | known.CARRYING
