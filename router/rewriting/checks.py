"""Whether a rewrite that a model made can be taken for the message.

A model may say the message in other words. What it may not do can be counted: invent or lose a
name, a number or a piece of code, bring in or drop a negation, answer a question, add a second
order, speak mostly of what nobody mentioned, or write more than a message.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from kds.brain.words.tokens import estimate_tokens
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.text import GRAMMATICAL, Piece, keys, read_pieces, straight, word_key

Analyse = Callable[[str], Analysis]

OUTPUT_TOKENS: Final = 150
"""Longest rewrite, in tokens."""

GROWTH: Final = 5
"""Times as many words as the message has; `GROWN` more are always allowed."""

GROWN: Final = 20

_QUOTES: Final = "\"'`“”‘’«»"
_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")
_INNER_END: Final = re.compile(r"(?<![A-Z])(?<!Dr)(?<!Mr)(?<!Ms)(?<!Mrs)(?<!vs)[.?!]+\s+(?=\S)")
_PATTERNS: Final = (
    ("prefix", known.PREFIX), ("instructions", known.OBEYING), ("markup", known.MARKUP),
)  # fmt: skip
_ASKING: Final = frozenset(("when", "where", "who", "why"))
_FEW: Final = frozenset(("one", "two"))
"""Number words that come in with any phrase: "which of the two"."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a rewrite is not taken: the name of the check, and what it met."""

    check: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}" if self.detail else self.check


@dataclass(frozen=True, slots=True)
class Taken:
    """A rewrite that holds, and what it brought in: the longest phrase said before, "" for none."""

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
    def mine(self) -> tuple[Piece, ...]:
        """The pieces of the message."""
        return read_pieces(self.message)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of all texts."""
        return tuple(piece for text in self.texts for piece in read_pieces(text))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Every word in any form."""
        return frozenset(keys(self.pieces))

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Words that stood side by side: "Ann" and "Bo Li" are no "Ann Li"."""
        return frozenset(pair for text in self.texts for pair in pairwise(keys(read_pieces(text))))

    @cached_property
    def forms(self) -> frozenset[str]:
        """Every word as it was written, in lower case."""
        return frozenset(piece.lower for piece in self.pieces)


def check(rewrite: str, told: Told, analyse: Analyse) -> Taken | Fault:
    """Judge what a model made of ``told.message``. Never raises."""
    text = rewrite.strip()
    pieces = read_pieces(text)
    fault = _form(text, told) or (None if pieces else Fault("empty"))
    if fault is None and keys(pieces) == keys(told.mine):
        return Taken(text)
    fault = (
        fault
        or _invented(pieces, told)
        or _lost(pieces, told)
        or _negated(pieces, told)
        or _mood(text, told, analyse)
        or _out_of_proportion(pieces, told)
        or _unheard_of(pieces, told)
    )
    if fault is not None:
        return fault
    brought = _brought(text, pieces, told)
    return Taken(text, brought) if brought else Fault("too vague")


def _form(text: str, told: Told) -> Fault | None:
    """What can be seen without reading: shape, length, script, what no message would have."""
    if _LINE_END.search(text):
        return Fault("lines", "more than one line")
    limit = max(OUTPUT_TOKENS, estimate_tokens(told.message))
    if len(text) > 12 * limit or estimate_tokens(text) > limit:
        return Fault("length", f"more than {limit} tokens")
    used = frozenset("".join(told.texts))
    if strange := next((char for char in text if not _is_usual(char, used)), None):
        return Fault("characters", f"U+{ord(strange):04X}")
    message = straight(told.message).lower()
    for name, pattern in _PATTERNS:
        match = pattern.search(straight(text))
        if match is not None and match[0].strip().lower() not in message:
            return Fault(name, match[0].strip())
    quoted = text[:1] in _QUOTES and text[-1:] in _QUOTES and bool(text)
    return Fault("quotes") if quoted and message.strip()[:1] not in _QUOTES else None


def _is_usual(char: str, used: frozenset[str]) -> bool:
    """A character that was used before, or one that any English sentence may have."""
    if char in used or (char.isascii() and char.isprintable()):
        return True
    if unicodedata.category(char) in ("Pi", "Pf", "Pd"):
        return True
    return unicodedata.name(char, "").startswith("LATIN ") and char.isalpha()


def _invented(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """The first name, number or piece of code that nobody mentioned."""
    for piece in pieces:
        if _must_stay(piece) and not _was_said(piece, told) and piece.lower not in _FEW:
            kind = "number" if piece.lower in cc.NUMBERS else piece.kind
            return Fault(f"new {kind}", piece.text)
    for one, two in pairwise(pieces):
        named = one.kind == two.kind == "name" and one.start > 0
        if named and (one.key, two.key) not in told.pairs:
            return Fault("new name", f"{one.text} {two.text}")
    return None


def _was_said(piece: Piece, told: Told) -> bool:
    return piece.key in told.keys or piece.lower in told.forms


def _must_stay(piece: Piece) -> bool:
    """A name (the first word of a sentence is none), a number, a piece of code."""
    if piece.kind == "name":
        return piece.start > 0 and piece.key not in GRAMMATICAL
    return piece.kind != "word" or piece.lower in cc.NUMBERS


def _lost(pieces: Iterable[Piece], told: Told) -> Fault | None:
    """The first name, number or piece of code of the message that did not come back."""
    theirs = frozenset(keys(pieces))
    gone = (p for p in told.mine if _must_stay(p) and p.key not in theirs | known.POINTING)
    lost = next(gone, None)
    return Fault("lost word", lost.text) if lost else None


def _negated(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """As many negations come back, before the same words; "no" in front answers, and may go.

    "And if it doesn't?" may come back as "fails to"; a negation may come in with what it negated
    before ("Why?" behind "Don't use eval").
    """
    before, after = list(_negations(told.mine)), list(_negations(pieces))
    if before and told.mine[0].key == "no" and len(after) < len(before):
        before = before[1:]
    own = frozenset(keys(told.mine))
    earlier = {p for text in told.texts for p in _negations(read_pieces(text))} - own - {""}
    count = sum(word not in earlier for word in after)
    if opposed := next(_opposed(pieces, told), None):
        return Fault("negation", opposed)
    failing = any(piece.key in known.FAILING for piece in pieces)
    if not count <= len(before) <= len(after) + failing:
        return Fault("negation", f"{len(after)} instead of {len(before)}")
    theirs = frozenset(keys(pieces))
    turned = [word for word in before if word in theirs and word not in after and not failing]
    return Fault("negation", f"not of '{turned[0]}' any more") if turned else None


def _negations(pieces: tuple[Piece, ...]) -> Iterator[str]:
    """The word that each negation stands before; "" for one that stands before none."""
    light = known.CARRYING | known.POINTING
    for i, piece in enumerate(pieces):
        if piece.key in known.NEGATIONS:
            yield next((p.key for p in pieces[i + 1 :] if p.key not in light), "")


def _opposed(pieces: tuple[Piece, ...], told: Told) -> Iterator[str]:
    """ "non-internal", "uninsured" where the message says "internal", "insured"."""
    own = frozenset(keys(told.mine))
    for one, two in pairwise(pieces):
        if one.lower.startswith("non") and one.key not in told.keys and two.key in own:
            yield f"{one.text}-{two.text}"
    for piece in pieces:
        bare = piece.lower.removeprefix("un")
        if bare != piece.lower and piece.key not in told.keys and word_key(bare) in own:
            yield piece.text


def _mood(text: str, told: Told, analyse: Analyse) -> Fault | None:
    """A question stays a question, an order is one order and keeps what it is about."""
    if len(_INNER_END.findall(text)) > len(_INNER_END.findall(told.message)):
        return Fault("more sentences")
    if told.message.rstrip().endswith("?"):
        polite = known.POLITE.match(straight(told.message))
        return (
            _asks_as_before(text, told)
            if polite or text.endswith("?")
            else Fault("no question any more")
        )
    before = analyse(told.message)
    repeats = any(piece.key in ("same", "question") for piece in told.mine)
    return (
        None if repeats or not _orders(before) else _same_order(text, told, before, analyse(text))
    )


def _asks_as_before(text: str, told: Told) -> Fault | None:
    """ "When did she leave?" is no "Why did Ann leave?"."""
    one, two = (
        next((p.lower for p in pieces if p.lower in cc.WH), "")
        for pieces in (told.mine, read_pieces(text))
    )
    turned = one != two and {one, two} <= _ASKING
    return Fault("changed meaning", f"'{two}' instead of '{one}'") if turned else None


def _same_order(text: str, told: Told, before: Analysis, after: Analysis) -> Fault | None:
    """All that an order says comes back, but for a verb that says little ("make")."""
    if not _weighty(told.mine):  # "Do it": nothing in it holds a rewrite
        return Fault("too vague")
    if text.endswith("?"):
        return Fault("a question now")
    said = frozenset(keys(read_pieces(text)))
    pointed = {two.start for one, two in pairwise(told.mine) if one.lower in cc.DEMONSTRATIVES}
    for piece in _weighty(told.mine):
        if piece.key not in said | known.LIGHT and piece.start not in pointed:
            return Fault("lost word", piece.text)
    if not _orders(after):
        return Fault("no order any more")
    more = _main_verbs(after) > max(_main_verbs(before), 1)
    return Fault("another request") if more else None


def _orders(text: Analysis) -> bool:
    return any(c.mood == "imperative" for c in text.clauses if c.verb is not None)


def _main_verbs(text: Analysis) -> int:
    verbs = [text.words[c.verb] for c in text.clauses if c.verb is not None and not c.subordinate]
    return sum(word.tag != "VBG" for word in verbs)


def _weighty(pieces: Iterable[Piece]) -> list[Piece]:
    light = GRAMMATICAL | known.POINTING | known.FILLING | known.CARRYING
    return [piece for piece in pieces if piece.key not in light]


def _out_of_proportion(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    limit = max(len(told.mine) + GROWN, GROWTH * len(told.mine))
    return Fault("length", f"{len(pieces)} words") if len(pieces) > limit else None


def _unheard_of(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """What the rewrite is about must be what was spoken of: half of its words, at least."""
    weighty = _weighty(pieces)
    new = [piece for piece in weighty if piece.key not in told.keys]
    return Fault("new word", new[0].text) if new and 2 * len(new) >= len(weighty) else None


def _brought(text: str, pieces: tuple[Piece, ...], told: Told) -> str:
    """The longest phrase of the rewrite that the conversation has and the message has not."""
    found, start, end = "", -1, -1
    own, source = frozenset(keys(told.mine)), straight(text)
    for piece in pieces:
        if piece.key in own or piece.key not in told.keys:
            start = -1
        elif piece.key not in GRAMMATICAL | known.CARRYING:
            start, end = (piece.start if start < 0 else start), piece.end
            found = max(found, source[start:end], key=len)
    return found
