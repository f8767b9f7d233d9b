"""What a text defines, seen by how it is written: "X" means ..., **X**: ..., (the "X").

Only the form counts (`patterns.yaml`), never a list of known terms. How sure the form is goes with
the term as its strength: what is written as a definition comes before what only looks like one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from kds.brain.documents.values import Block, patterns, words
from kds.brain.words.terms import phrase_key

# How sure each form is.
STATED: Final = 1.0  # quoted or marked, with words that define; an entry of a list of terms
LISTED: Final = 0.9  # marked, with a colon or dash behind: **X** - ...
NAMED: Final = 0.75  # given its name in passing: (the "X")
SENTENCE: Final = 0.6  # said in a sentence without marks: An X is a ...
ROW: Final = 0.55  # the first cell of a row: the row is about it

LONGEST_TERM: Final = 8
"""Words. Longer phrases are not terms."""

BEGINNING: Final = 500
"""Characters of a block in which its leading term stands, if it has one: the longest form has
fewer than 330."""

SENTENCES: Final = 4
MARKED_SENTENCES: Final = 40
"""Sentences of a block that are looked at, and those for terms in bold or quotes."""

_QUOTES: Final = "\"“”„‟«»'‘’`"
_FORMS: Final = patterns("definitions")
_NOT_TERMS: Final = words("not terms")
_VERBS: Final = words("verbs")

_Found = Iterator[tuple[str, float]]
"""Terms as they stand there, and how sure the form makes them."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A term that a text defines, and how sure the form of the text makes it."""

    term: str
    strength: float

    @property
    def key(self) -> str:
        """What every spelling of the term shares."""
        return phrase_key(self.term)


def definitions(block: Block) -> tuple[Defined, ...]:
    """Return what a block defines, the surest first; each term once.

    >>> definitions(Block('"Cut-off Date" means the first day of June.'))
    (Defined(term='Cut-off Date', strength=1.0),)
    >>> definitions(Block("Payment is due on the first day of June."))
    ()
    """
    if block.kind == "code":
        return ()
    block = _squeezed(block)
    found: dict[str, Defined] = {}
    for one in (*_terms(_leading(block)), *_terms(_in_passing(block))):
        key = one.key
        if key and (key not in found or found[key].strength < one.strength):
            found[key] = one
    return tuple(sorted(found.values(), key=lambda one: -one.strength))


def leading(block: Block) -> Defined | None:
    """Return the term that the whole block is the definition of, if it is one.

    >>> leading(Block("He pays on the Closing Date (the “Price”)."))
    """
    return next(_terms(_leading(_squeezed(block))), None)


def _terms(found: _Found) -> Iterator[Defined]:
    for written, strength in found:
        term = " ".join(written.split()).strip(_QUOTES + " *_.,:;-–—\\")
        first, _, rest = term.partition(" ")
        if rest and first in ("the", "a", "an", "each", "every", "The", "A", "An", "Each", "Every"):
            term = rest
        parts = term.split()
        named = any(letter.isalnum() for letter in term)
        if named and len(parts) <= LONGEST_TERM and parts[0].casefold() not in _NOT_TERMS:
            yield Defined(term, strength)


def _squeezed(block: Block) -> Block:
    """Make a single blank, or line break, of blanks in a row: no form depends on how many."""

    def squeeze(text: str) -> str:
        return _FORMS["blanks"].sub(lambda found: "\n" if "\n" in found[0] else " ", text)

    marked = tuple(map(squeeze, block.marked))
    return replace(block, text=squeeze(block.text), term=squeeze(block.term), marked=marked)


def _leading(block: Block) -> _Found:
    if block.term and (block.defines or block.kind == "row"):
        yield block.term, STATED if block.defines else ROW
    if block.kind == "row":
        return
    begin = _end_of_bullet(block.text)
    text = block.text[begin : begin + max(BEGINNING, 2 * len(block.term))]
    if block.term and not block.defines and (said := _after(text, block.term)):
        yield block.term, said
    if (found := _FORMS["marked"].match(text)) is not None:
        yield found["term"], STATED if found["says"] else LISTED if found["sign"] else NAMED
        if (also := _FORMS["also"].match(text, found.end("term") + 1)) is not None:
            yield also["term"], STATED if found["says"] else LISTED
    elif (found := _FORMS["marked sign"].match(text)) is not None:
        yield found["term"], LISTED
    elif (found := _FORMS["plain"].match(text)) is not None and _may_be_plain(found):
        yield found["term"], STATED if found["says"] else NAMED


def _end_of_bullet(text: str) -> int:
    found = _FORMS["bullet"].match(text)
    return found.end() if found else 0


def _after(text: str, term: str) -> float | None:
    """Say how sure it is that words in bold at the beginning are what the rest defines."""
    if not text.startswith(term):
        return None
    rest = text[len(term) :].lstrip(_QUOTES + " ")
    if _FORMS["says"].match(rest):
        return STATED
    if rest[:1] in ":–—-=" or term.endswith((":", ".")):
        return LISTED
    return NAMED if re.match(r"(?:is|are)\s", rest) else None


def _may_be_plain(found: re.Match[str]) -> bool:
    """Without marks only what is written as a name, or is short and has words that define."""
    parts = found["term"].split()
    if any(word.casefold() in _VERBS for word in parts):
        return False
    if found["says"]:
        return len(parts) <= 5
    capital = sum(word[:1].isupper() or word[:1].isdigit() for word in parts)
    return len(parts) <= 6 and capital >= len([word for word in parts if len(word) > 3])


def _in_passing(block: Block) -> _Found:
    text = block.text
    for found in _FORMS["naming"].finditer(text):
        for quoted in _FORMS["named in quotes"].finditer(found["first"] + found["rest"]):
            yield quoted["term"], NAMED
    for found in _FORMS["inside"].finditer(text):
        yield found["term"], STATED
    yield from _introduced(block)
    for found in _FORMS["called"].finditer(text):
        yield found["marked"] or found["term"], NAMED if found["marked"] else SENTENCE
    for sentence in islice(_sentences(text), 0 if block.kind == "row" else SENTENCES):
        if (begins := _FORMS["sentence"].match(sentence)) is not None:
            yield begins["term"], SENTENCE
            yield begins["short"] or "", SENTENCE


def _introduced(block: Block) -> _Found:
    """Yield what sentences begin with in bold or quotes: A **refund** returns a payment."""
    for sentence in islice(_sentences(block.text), MARKED_SENTENCES):
        if (found := _FORMS["quoted first"].match(sentence)) is not None:
            yield found["term"], LISTED
        plain = _FORMS["article"].sub("", sentence.lstrip("*_ "), count=1).lstrip("*_`")
        for term in block.marked:
            if plain.startswith(term) and _FORMS["verb next"].match(plain[len(term) :]):
                yield term, NAMED


def _sentences(text: str) -> Iterator[str]:
    """Yield the beginnings of sentences, where a thing is introduced."""
    starts = (
        _end_of_bullet(text),
        *(found.end() for found in _FORMS["sentence end"].finditer(text)),
    )
    return (text[at : at + 200] for at in starts)
