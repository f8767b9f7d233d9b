"""What a rewrite may draw on, and what comes of judging it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kds.router.language.words import Analysis
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.text import Piece, keys, read_pieces, straight

Analyse = Callable[[str], Analysis]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a rewrite is not taken: the name of the check, and what it met."""

    check: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}" if self.detail else self.check


@dataclass(frozen=True, slots=True)
class Taken:
    """A rewrite that holds, and what it brought in: the longest name or phrase, "" for none."""

    text: str
    brought: str = ""


@dataclass(frozen=True)
class Told:
    """What a rewrite may draw on: the message, what the rules made of it, what was said before."""

    message: str
    expanded: str
    said: tuple[str, ...] = ()
    """By the user, oldest first, as written and as the rules expanded it."""
    replies: tuple[str, ...] = ()
    """By the assistant."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was said, the message included."""
        return (*self.said, *self.replies, self.expanded, self.message)

    @cached_property
    def own_keys(self) -> frozenset[str]:
        """Every word of the message in any form."""
        return frozenset(keys(read_pieces(self.message)))

    @cached_property
    def sets_apart(self) -> bool:
        """Whether the message sets something apart: "others", "else"."""
        return bool(self.own_keys & known.SETTING_APART)

    @cached_property
    def is_of_several(self) -> bool:
        """Whether the message may point to several things: "them"."""
        return any(piece.lower in known.SEVERAL for piece in read_pieces(self.message))

    @cached_property
    def pieces(self) -> tuple[tuple[Piece, ...], ...]:
        """The pieces of each text."""
        return tuple(read_pieces(text) for text in self.texts)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Every word in any form."""
        return frozenset(piece.key for pieces in self.pieces for piece in pieces)

    @cached_property
    def forms(self) -> frozenset[str]:
        """Every word as it was written, in lower case."""
        return frozenset(piece.lower for pieces in self.pieces for piece in pieces)

    @cached_property
    def codes(self) -> frozenset[str]:
        """Every word as it was written."""
        return frozenset(piece.text for pieces in self.pieces for piece in pieces)

    @cached_property
    def proper(self) -> frozenset[str]:
        """Every name as it was written, but for words that a sentence begins with."""
        return frozenset(
            two.text
            for text, pieces in zip(self.texts, self.pieces, strict=True)
            for one, two in pairwise(pieces)
            if two.kind == "name" and not set(straight(text)[one.end : two.start]) & set(".?!:\n")
        )

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Words that stood side by side; articles between them do not count."""
        return frozenset(
            pair
            for pieces in self.pieces
            for pair in pairwise(key for key in keys(pieces) if key not in ("the", "a"))
        )

    @cached_property
    def compounds(self) -> frozenset[tuple[str, str]]:
        """Words that stood side by side, but for words that join."""
        return frozenset(
            pair
            for pieces in self.pieces
            for pair in pairwise(key for key in keys(pieces) if key not in known.JOINING)
        )

    @cached_property
    def characters(self) -> frozenset[str]:
        """Every character that was used."""
        return frozenset("".join(self.texts))
