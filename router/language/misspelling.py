"""Slips of one letter: "waht about", "hwo long", "make it nullbale".

A word that no lexicon and nobody in the conversation knows is a name or a slip. Where its form
tells which word was meant (two letters swapped, or one doubled), the message is read with that
word. Where it does not, the message has several readings, and only what they agree on holds.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from string import ascii_lowercase
from typing import Final, NamedTuple

from kds.brain.turn import Edit, Reference
from kds.router.english import table
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_listed

MOST_UNKNOWN: Final = 6
MOST_MEANT: Final = 12
"""A message with as many unknown words, or as much that they may mean, is left as it is. One slip
may mean eight words ("purle"), and each costs a reading of the message."""

READ_CHARS: Final = 2_000
"""As far as a message is analysed."""

SURE_LETTERS: Final = 5
"""From this length on a swapped pair of letters points to one word."""

SHORT: Final = 4
"""A shorter word has neighbours by chance: "lab" and "sms" are slips of a function word or none."""

_PLAIN: Final = re.compile(r"(?<![\w./@'’:`<-])(?:^[A-Z])?[a-z]{3,}(?![\w/@'’:`<>=(-]|\.\w)")
_TWICE: Final = re.compile(r"(?<![\w-])(the|an?|of|to|and|or)[ \t]{1,3}(?i:\1)(?![\w-])", re.I)
"""Words that never follow themselves; "log in in May" and "that that" may be meant."""

_TABLES: Final = "function_words auxiliaries qualities verbs nouns people particles jargon".split()
_ENDINGS: Final = ("s", "re", "ve", "ll", "m", "d")
_AUXILIARIES: Final = cc.BE | cc.HAVE | cc.DO | cc.MODALS
_SUBJECTS: Final = cc.PERSONAL | cc.WH | cc.DEMONSTRATIVES | {"there", "here", "let"}


class Slip(NamedTuple):
    """Characters of a message, and the word that was meant."""

    start: int
    end: int
    meant: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A message with its slips spelt right, and where its characters stand in the original."""

    text: str
    slips: tuple[Slip, ...] = ()

    def original(self, at: int) -> int:
        """The place in the original of a place in the mended text."""
        grown = 0
        for start, end, meant in self.slips:
            if at <= start + grown:
                break
            if at < start + grown + len(meant):
                return min(at - grown, end)
            grown += len(meant) - (end - start)
        return at - grown

    def edits(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits of the mended text as edits of the original."""
        return tuple(Edit(self.original(e.start), self.original(e.end), e.text) for e in edits)

    def references(self, message: str, found: Sequence[Reference]) -> tuple[Reference, ...]:
        """References of the mended text as references of the original."""
        places = [(self.original(r.start), self.original(r.end)) for r in found]
        return tuple(
            replace(r, text=message[a:b], start=a, end=b)
            for r, (a, b) in zip(found, places, strict=True)
        )

    def with_slip(self, slip: Slip, message: str) -> "Reading":
        """The reading in which one more word of the message is a slip."""
        return _read(message, [*self.slips, slip])


def spelt(message: str, said: Collection[str] = ()) -> Reading:
    """The message with the slips mended of which the form tells what was meant, a word typed twice
    among them.

    ``said`` are the words of the conversation: they are right as they are.

    >>> spelt("waht about Windows?").text, spelt("make it nullbale for the the API").text
    ('what about Windows?', 'make it nullable for the API')
    """
    slips = [Slip(*one.span(), one[1]) for one in _TWICE.finditer(message[:READ_CHARS])]
    for word, start, end in _unknown(message, said):
        near = meant(word, said)
        if is_sure(word, near):
            slips.append(Slip(start, end, _as(message[start:end], near[0])))
    return _read(message, slips)


def doubts(message: str, said: Collection[str] = ()) -> tuple[Slip, ...] | None:
    """The words that may be slips, each with all that may be meant; None where there are too many.

    >>> [slip.meant for slip in doubts("make it nullabe")], doubts("make it nullbale")
    (['nullable'], ())
    >>> doubts("French too"), [slip.meant for slip in doubts("french too")]
    ((), ['drench', 'trench', 'wrench'])
    """
    found: list[Slip] = []
    for number, (word, start, end) in enumerate(_unknown(message, said)):
        near = meant(word, said)
        if message[start].isupper():  # "French" is a name rather than a slip of "drench"
            near = tuple(one for one in near if one in _closed() or one in _listed())
        if not is_sure(word, near):
            found += [Slip(start, end, _as(message[start:end], one)) for one in near]
        if number >= MOST_UNKNOWN or len(found) >= MOST_MEANT:
            return None
    return tuple(found)


def as_typed(text: str, slip: Slip, message: str) -> str:
    """A text with the word that may have been meant as the message has it."""
    return re.sub(rf"\b{slip.meant}\b", message[slip.start : slip.end], text, flags=re.I)


def _read(message: str, slips: Sequence[Slip]) -> Reading:
    text = message
    for start, end, word in sorted(slips, reverse=True):
        text = text[:start] + word + text[end:]
    return Reading(text, tuple(sorted(slips)))


def _as(written: str, meant: str) -> str:
    return meant.capitalize() if written[0].isupper() else meant


def _unknown(message: str, said: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """The words that are in no lexicon, in lower case, and where they stand."""
    for match in _PLAIN.finditer(message[:READ_CHARS]):
        word = match[0].lower()
        if word not in said and not _is_known_as_typed(word):
            yield word, *match.span()


def is_known(word: str) -> bool:
    """Whether a lower-case word is in a lexicon.

    >>> is_known("nullable"), is_known("the"), is_known("nullbale")
    (True, True, False)
    """
    if word in _closed() or word in _listed() or is_listed(word):
        return True
    if word.endswith("nt"):  # "dont", "thats": nothing but the apostrophe is missing
        return word.removesuffix("nt") in _AUXILIARIES
    return any(word.endswith(e) and word.removesuffix(e) in _SUBJECTS for e in _ENDINGS)


_is_known_as_typed = lru_cache(maxsize=4096)(is_known)
"""The words of a conversation come again in each turn; those that may be meant do not."""


def meant(word: str, said: Collection[str] = ()) -> tuple[str, ...]:
    """The words of which ``word`` may be a slip; none for one that is known, or far from all.

    >>> meant("nullbale"), meant("axios"), meant("kafka")
    (('nullable',), ('axis', 'axioms', 'axiom'), ())
    """
    if word in said or is_known(word):
        return ()
    near = {one for some in _one_slip_from(word) for one in some}
    names = tuple(one for one in said if len(one) > SHORT and one in near)
    return names if any(not is_known(one) for one in names) else _meant(word)


def is_sure(word: str, near: Sequence[str]) -> bool:
    """Whether the letters tell which word was to be written: two swapped, or one doubled."""
    likely = len(near) == 1 and (len(word) >= SURE_LETTERS or near[0] in _closed())
    return likely and (near[0] in _one_slip_from(word)[0] or not is_known(near[0]))


@lru_cache(maxsize=2048)
def _meant(word: str) -> tuple[str, ...]:
    likely, shorter, longer, replaced = _one_slip_from(word)
    closed = [one for one in likely if one in _closed()]
    if len(closed) == 1:
        return (closed[0],)
    if len(word) < SHORT:
        return tuple(dict.fromkeys(one for one in longer if one in _closed() | _listed()))
    if len(word) < SURE_LETTERS:
        replaced = [one for one in replaced if one in _closed()]
    near = dict.fromkeys((*likely, *shorter, *longer, *replaced))
    return tuple(one for one in near if one != word and is_known(one))


@lru_cache(maxsize=64)
def _one_slip_from(word: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """What two letters swapped or one doubled make of it; a letter less, one more, another one."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    swapped = [a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1 and b[0] != b[1]]
    undoubled = [a + b[1:] for a, b in cuts if a[-1:] == b[:1] != ""]
    return (
        swapped + undoubled,
        [a + b[1:] for a, b in cuts if b],
        [a + letter + b for a, b in cuts for letter in ascii_lowercase],
        [a + letter + b[1:] for a, b in cuts if b for letter in ascii_lowercase],
    )


@cache
def _closed() -> frozenset[str]:
    return frozenset().union(*table("closed_class").values())


@cache
def _listed() -> frozenset[str]:
    """The words of the other packaged tables of English."""
    return frozenset().union(*(one for name in _TABLES for one in table(name).values()))
