"""What a text defines, seen by how it is written: "X" means ..., **X**: ..., (the "X").

Only the form counts, never a list of known terms. How sure the form is goes with the term as its
strength: what is written as a definition comes before what only looks like one.

Hostile texts are read in linear time. Blanks are squeezed before anything is looked for; what
repeats in an expression is possessive (`++`) or bounded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kds.brain.documents.content import Block
from kds.brain.words.stems import phrase_key

STATED: Final = 1.0
"""Quoted or marked, with words that define: "X" means; an entry of a list of terms."""

LISTED: Final = 0.9
"""Marked, with a colon or dash behind: **X** - ..."""

NAMED: Final = 0.75
"""Given its name in passing: (the "X")."""

SENTENCE: Final = 0.6
"""Said in a sentence without marks: An X is a ..."""

ROW: Final = 0.55
"""The first cell of a row: the row is about it."""

LONGEST_TERM: Final = 8
"""Words. Longer phrases are not terms."""

_QUOTES: Final = "\"“”„‟«»'‘’`"
_OPEN: Final = r"(?:[*_`\"“„«‘']|\\\"){1,8}+"
_CLOSE: Final = r"(?:[*_`\"”“»’']|\\\"){1,8}+"
_BULLET: Final = re.compile(
    r"\s*(?:[-*+•·‣▪]\s+|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+|>\s+|:\s+)*", re.IGNORECASE
)
_SAYS: Final = (
    r"(?:(?:shall|will|must)\s+)?(?:mean|have\s+the\s+(?:same\s+)?meanings?|be\s+defined|refer\s+to)\b"
    r"|means\b|(?:has|have)\s+the\s+(?:\w+\s+){0,2}meanings?\b|is\s+defined\b|are\s+defined\b"
    r"|refers?\s+to\b|stands\s+for\b|denotes\b|is\s+short\s+for\b|describes\b"
)
_BETWEEN: Final = (
    rf"(?:\s*,[^,.;:]{{1,80}},|\s*\([^()]{{1,80}}\)|\s+or\s+{_OPEN}[^\"”*_]{{1,60}}{_CLOSE})?"
)
_LEAD: Final = r"(?:(?:as\s+used\s+\w+,\s+)?the\s+terms?\s+|an?\s+|the\s+|each\s+)?"
_MARKED: Final = re.compile(
    rf"{_LEAD}{_OPEN}\s*(?P<term>[^\"“”„«»*\n]{{1,80}}?)\s*[,.:]?\s*{_CLOSE}"
    + _BETWEEN
    + rf"\s*(?:(?P<says>{_SAYS})|(?P<sign>[:=]|[–—]|-{{1,2}}\s)|(?P<is>\s(?:is|are)\s))",
    re.IGNORECASE,
)
_MARKED_SIGN: Final = re.compile(rf"{_OPEN}\s*(?P<term>[^\"“”„«»*\n]{{1,80}}?)\s*[:.]\s*{_CLOSE}\s")
_ALSO: Final = re.compile(rf"\s+or\s+{_OPEN}\s*(?P<term>[^\"“”„«»*\n]{{1,60}}?)\s*[,.]?\s*{_CLOSE}")
_PLAIN: Final = re.compile(
    rf"(?:The\s+term\s+)?(?P<term>[A-Z0-9][\w&/’'.-]*(?:\s+[\w&/’'.-]+){{0,7}}?)"
    rf"(?:\s*\([^()]{{1,40}}\))?\s*(?:(?P<says>,?\s*(?:{_SAYS}))|(?P<sign>:\s|\s[–—]\s|\s--?\s))"
)
_NAMING: Final = re.compile(
    r"\((?:each|any|all|both|together|collectively|individually|hereinafter|hereafter"
    r"|herein|such|as|in each case|referred to(?: herein)?(?: as)?|which|being|also called|called"
    r"|also|the|and|an?|or|,|\s)*+"
    r"(?P<first>[\"“„«]\s*[^\"“”»()]{1,60}?\s*,?[\"”“»])(?P<rest>[^()]{0,80})\)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“„«]\s*(?P<term>[^\"“”»()]{1,60}?)\s*,?[\"”“»]")
_INSIDE: Final = re.compile(
    rf"(?:the\s+term\s+)?[\"“„«](?P<term>[^\"“”„«»\n]{{1,60}}?),?[\"”»]\s*,?\s*(?:{_SAYS})",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(
    r"\b(?:is|are|be)\s+(?:called|known\s+as|referred\s+to\s+as|termed)\s+(?:an?\s+|the\s+)?"
    rf"(?:{_OPEN}(?P<marked>[^\"“”*_`\n]{{1,60}}?){_CLOSE}|(?P<term>[a-z]+(?:[ -][a-z]+){{0,2}}))"
)
_SENTENCE: Final = re.compile(
    r"(?:An?|The|Every|Each)?\s*(?P<term>[A-Za-z][\w’'/-]*(?:\s+[\w’'/-]+){0,4}?)"
    r"(?:\s+\((?P<short>[A-Za-z]{2,8})\))?\s+(?:is|are)\s+"
    r"(?:an?|the|any|one|all|our|your|how|what|where|when|someone|anyone|somebody|something)\s"
)
_BEGINNING: Final = 500
"""Characters of a block in which its leading term stands, if it has one: the longest form has
fewer than 330."""

_BLANKS: Final = re.compile(r"\s{2,}|[^\S \n]")
MANY_SENTENCES: Final = 40
"""Sentences of a block that are looked at for terms in bold or quotes."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“*_])")
_ARTICLE: Final = re.compile(r"(?:An?|The|Each|Every)\s+")
_QUOTED_FIRST: Final = re.compile(
    r"(?:An?\s+|The\s+)?[\"“„«](?P<term>[^\"“”„«»\n]{1,60}?)[\"”»]\s+(?:is|are)\s"
)
_VERB_NEXT: Final = re.compile(r"[*_`]*\s+(?:\([^()]{1,40}\)\s+)?[a-z]+")
_NOT_TERMS: Final = frozenset(
    """it this that these those there here he she they we you i what which who where when how
    note notes example examples warning important tip see if as in on at for to the a an all any
    each such one some most other others answer question yes no""".split()
)


_VERBS: Final = frozenset(
    "is are was were be been has have had do does did can could will would shall should must may "
    "might let make sure".split()
)


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
    found: dict[str, Defined] = {}
    if block.kind == "code":
        return ()
    for one in _all(_squeezed(block)):
        term = _clean(one.term)
        if _is_term(term):
            new = Defined(term, one.strength)
            known = found.get(new.key)
            if known is None or known.strength < new.strength:
                found[new.key] = new
    found.pop("", None)
    return tuple(sorted(found.values(), key=lambda one: -one.strength))


def leading(block: Block) -> Defined | None:
    """Return the term that the whole block is the definition of, if it is one.

    >>> leading(Block("He pays on the Closing Date (the “Price”)."))
    """
    found = (one for one in _leading(_squeezed(block)) if _is_term(_clean(one.term)))
    first = next(found, None)
    return Defined(_clean(first.term), first.strength) if first else None


def _all(block: Block) -> Iterator[Defined]:
    yield from _leading(block)
    text = block.text
    for found in _NAMING.finditer(text):
        for quoted in _QUOTED.finditer(found["first"] + found["rest"]):
            yield Defined(quoted["term"], NAMED)
    for found in _INSIDE.finditer(text):
        yield Defined(found["term"], STATED)
    yield from _introduced(block)
    for found in _CALLED.finditer(text):
        yield Defined(found["marked"] or found["term"], NAMED if found["marked"] else SENTENCE)
    if block.kind != "row":
        yield from _said(text)
    for names in spelled_out(text):
        yield from (Defined(name, SENTENCE) for name in names)


def _squeezed(block: Block) -> Block:
    """Make a single blank, or line break, of blanks in a row: no form depends on how many."""
    return replace(
        block,
        text=_squeeze(block.text),
        term=_squeeze(block.term),
        marked=tuple(map(_squeeze, block.marked)),
    )


def _squeeze(text: str) -> str:
    return _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", text)


def _introduced(block: Block) -> Iterator[Defined]:
    """Yield what sentences begin with in bold or quotes: A **refund** returns a payment."""
    for sentence in _sentences(block.text, many=MANY_SENTENCES):
        if (found := _QUOTED_FIRST.match(sentence)) is not None:
            yield Defined(found["term"], LISTED)
        plain = _ARTICLE.sub("", sentence.lstrip("*_ "), count=1).lstrip("*_`")
        for term in block.marked:
            if plain.startswith(term) and _VERB_NEXT.match(plain[len(term) :]):
                yield Defined(term, NAMED)


def _said(text: str) -> Iterator[Defined]:
    """Yield what the first sentences say without marks: A refund (RF) is a payment ..."""
    for sentence in _sentences(text):
        if (found := _SENTENCE.match(sentence)) is not None:
            yield Defined(found["term"], SENTENCE)
            if found["short"]:
                yield Defined(found["short"], SENTENCE)


def _leading(block: Block) -> Iterator[Defined]:
    if block.term and (block.defines or block.kind == "row"):
        yield Defined(block.term, STATED if block.defines else ROW)
    if block.kind == "row":
        return
    begin = _end_of_bullet(block.text)
    text = block.text[begin : begin + max(_BEGINNING, 2 * len(block.term))]
    if block.term and not block.defines and (said := _after(text, block.term)):
        yield Defined(block.term, said)
    yield from _at_the_beginning(text)


def _at_the_beginning(text: str) -> Iterator[Defined]:
    if (found := _MARKED.match(text)) is not None:
        yield Defined(
            found["term"], STATED if found["says"] else LISTED if found["sign"] else NAMED
        )
        if (also := _ALSO.match(text, found.end("term") + 1)) is not None:
            yield Defined(also["term"], STATED if found["says"] else LISTED)
    elif (found := _MARKED_SIGN.match(text)) is not None:
        yield Defined(found["term"], LISTED)
    elif (found := _PLAIN.match(text)) is not None and _may_be_plain(found):
        yield Defined(found["term"], STATED if found["says"] else NAMED)


def _end_of_bullet(text: str) -> int:
    found = _BULLET.match(text)
    return found.end() if found else 0


def _after(text: str, term: str) -> float | None:
    """Say how sure it is that words in bold at the beginning are what the rest defines."""
    if not text.startswith(term):
        return None
    rest = text[len(term) :].lstrip(_QUOTES + " ")
    if re.match(_SAYS, rest, re.IGNORECASE):
        return STATED
    if rest[:1] in ":–—-=" or term.endswith((":", ".")):
        return LISTED
    return NAMED if re.match(r"(?:is|are)\s", rest) else None


def _may_be_plain(found: re.Match[str]) -> bool:
    """Without marks only what is written as a name, or is short and has words that define."""
    words = found["term"].split()
    if any(word.casefold() in _VERBS for word in words):
        return False
    if found["says"]:
        return len(words) <= 5
    capital = sum(word[:1].isupper() or word[:1].isdigit() for word in words)
    return len(words) <= 6 and capital >= len([word for word in words if len(word) > 3])


def _sentences(text: str, *, many: int = 4) -> Iterator[str]:
    """Yield the beginnings of the first sentences, where a thing is introduced."""
    at = _end_of_bullet(text)
    yield text[at : at + 200]
    for number, found in enumerate(_SENTENCE_END.finditer(text), start=1):
        if number == many:
            return
        yield text[found.end() : found.end() + 200]


def _clean(term: str) -> str:
    term = " ".join(term.split()).strip(_QUOTES + " *_.,:;-–—\\")
    for article in ("the ", "a ", "an ", "each ", "every ", "The ", "A ", "An ", "Each ", "Every "):
        if term.startswith(article):
            return term.removeprefix(article)
    return term


def _is_term(term: str) -> bool:
    words = term.split()
    return (
        0 < len(words) <= LONGEST_TERM
        and words[0].casefold() not in _NOT_TERMS
        and any(letter.isalnum() for letter in term)
    )


_ACRONYM: Final = re.compile(r"(?<=\s)\((?P<short>[A-Z][A-Za-z]{1,7})\)")

_SPELLED_OUT: Final = 7
"""Words that an acronym may stand for."""

_BEFORE_ACRONYM: Final = 160
"""Characters in which they are looked for."""


def spelled_out(text: str) -> Iterator[tuple[str, str]]:
    """Yield words and letters of each acronym in brackets whose letters are those of the words.

    >>> list(spelled_out("the Time to Live (TTL) of (ABC)"))
    [('Time to Live', 'TTL')]
    """
    for found in _ACRONYM.finditer(text):
        before = text[max(found.start() - _BEFORE_ACRONYM, 0) : found.start()]
        said = re.split(r"[^\w\s-]", before)[-1].split()[-_SPELLED_OUT:]
        words = [word for one in said if (word := one.lstrip("0123456789_-"))]
        short = found["short"].rstrip("s").casefold()
        for count in range(2, len(words) + 1):
            own = words[-count:]
            initials = "".join(word[:1] for word in re.split(r"[\s-]+", " ".join(own)))
            capitals = "".join(word[0] for word in own if word[0].isupper())
            if short in (initials.casefold(), capitals.casefold()):
                yield " ".join(own), found["short"]
                break
