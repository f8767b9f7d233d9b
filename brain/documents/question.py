"""What a question asks of documents: words, terms that documents define, sections, a comparison.

The store is asked only which of the question's phrases it knows (`known`); all else is reading.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kds.brain.documents.content import LABELS, label_of, number_key
from kds.brain.documents.definitions import LONGEST_TERM
from kds.brain.documents.values import Reference
from kds.brain.passages.question import Question, Term, read_question
from kds.brain.words.identifiers import joined_forms, names_in
from kds.brain.words.stems import ABOUT_MEANING, EMPTY, WORD, phrase_key, stem, stems

WORTH: Final = 0.5
"""What a synonym counts of the word that was asked for."""


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    lines = Path(__file__).with_name("synonyms.txt").read_text(encoding="utf-8").splitlines()
    for head, _, others in (line.partition(": ") for line in lines):
        known = found.get(stem(head), ())
        found[stem(head)] = tuple(dict.fromkeys((*known, *others.split())))
    return MappingProxyType(found)


SYNONYMS: Final = _by_stem()
"""Stem -> words that may stand for it."""


def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the words that may stand in a document for ``word``.

    >>> synonyms_of("weekends"), synonyms_of("purple")
    (('saturday', 'sunday', 'business'), ())
    """
    return SYNONYMS.get(stem(word.casefold()), ())


LONGEST: Final = 1000
"""Characters in which two things are compared: more are a paste with a question in it."""

MANY_DIVIDERS: Final = 20
"""Places that may divide the two, the last ones."""

_DIVIDERS: Final = (
    re.compile(
        r"\s+(?:versus|vs\.?|compared\s+(?:to|with)|as\s+opposed\s+to|rather\s+than)\s+", re.I
    ),
    re.compile(r"\s*,?\s+or\s+", re.I),
    re.compile(r"\s+(?:than|from)\s+", re.I),
    re.compile(r"\s*,?\s+and\s+", re.I),
    re.compile(r"\s+(?:as|before|after|to|with)\s+", re.I),
)
"""What stands between the two things of a comparison, the surest first."""

_SIDE_BEGINS: Final = re.compile(
    r",|\b(?:between|both|either|neither|does|do|is|are|compare|than|first|earlier|later)\b", re.I
)
_COMPARES: Final = re.compile(
    r"\b(?:compar\w*|differen\w*|differs?|vs\.?|versus|\w+er\s+than|more\s+than|less\s+than|same"
    r"|similar\w*|both|either|between|longer|shorter|higher|lower|larger|bigger|smaller|earlier"
    r"|later|sooner|cheaper|faster|better|first|(?:comes?|falls?|goes)\s+(?:before|after|last)"
    r"|which\s+(?:one|of)|relate[sd]?|apart|distinguish\w*)\b",
    re.IGNORECASE,
)
MEASURES: Final = frozenset(
    map(
        stem,
        "come comes first last later earlier sooner longer shorter higher lower larger bigger "
        "smaller more less greater most least better compare compared comparison difference "
        "different differ same similar both either neither versus vs relate related".split(),
    )
)
"""Words that say how things are compared, not which."""


def compared_sides(text: str) -> tuple[frozenset[str], ...]:
    """Return what each side of a comparison has that the other has not; () for no comparison.

    >>> [sorted(side) for side in compared_sides("Is the Due Date or the Cut-off Date later?")]
    [['due'], ['cut']]
    """
    text = " ".join(text[:LONGEST].split())
    if _COMPARES.search(text) is None:
        return ()
    begins = [0, *(one.end() for one in _SIDE_BEGINS.finditer(text))]
    for pattern in _DIVIDERS:
        for found in list(pattern.finditer(text))[: -MANY_DIVIDERS - 1 : -1]:
            left, right = text[: found.start()], text[found.end() :]
            begin = begins[bisect_right(begins, found.start()) - 1]
            sides = [frozenset(stems(left[begin:])) - EMPTY, frozenset(stems(right)) - EMPTY]
            if not sides[0] and begin:
                sides[0] = frozenset(stems(left)) - EMPTY
            only = sides[0] - sides[1] - MEASURES, sides[1] - sides[0] - MEASURES
            if all(only):
                return only
    return ()


LONGEST_PHRASE: Final = LONGEST_TERM

MANY_REFERENCES: Final = 8
"""Sections that a question may name."""

MANY_WORDS: Final = 60
"""Words of a question in which phrases are looked for."""

_REFERENCE: Final = re.compile(
    rf"(?<![\w.])(?P<label>{LABELS})s?\s*(?P<number>\d+(?:\.\d+)*|[ivxlcdm]+\b|[a-z](?:\.\d+)*\b)"
    r"(?P<inner>(?:\s?\([a-z0-9]{1,4}\))*)",
    re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"(?<![\w.$€£])(?P<number>\d+\.\d+(?:\.\d+)*)(?P<inner>(?:\([a-z0-9]{1,4}\))*)"
    r"(?!\s*(?:%|percent|million|billion|days|hours|years|months))",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“„«`](?P<text>[^\"“”»`]{2,80})[\"”»`]")
_NAME: Final = re.compile(
    r"(?<![.?!]\s)(?<!^)\b[A-Z][\w&-]*+"
    r"(?:\s+(?:of|to|for|the|in)\s+[A-Z][\w&-]*|\s+[A-Z][\w&-]*){1,6}"
)
_LEAD_IN: Final = r"\W*(?:(?:and|so|but|ok|okay|well|then|hey|hi|also|now|please|again|btw)\W+)*"
_ASKS_MEANING: Final = re.compile(
    _LEAD_IN + r"(?:what(?:[’']?s|\s+is|\s+are|\s+was|\s+were|\s+exactly\s+is|\s+about)\b"
    r"|what\s+(?:counts|qualifies)\b|whats\b|how\s+about\b"
    r"|what\s+(?:does|do|did)\b.*\b(?:mean|stand\s+for|refer\s+to)\b"
    r"|(?:who|when|where)(?:[’']?s|\s+is|\s+are)\b"
    r"|how\s+(?:much|many|long|high|big|large)\s+(?:is|are)\b|which\s+\w+\s+(?:is|are)\b"
    r"|how\s+(?:is|are)\b.*\b(?:calculated|computed|determined|defined|measured)\b"
    r"|(?:(?:can|could)\s+you\s+)?(?:define|explain|describe|tell\s+me\s+about)\b"
    r"|(?:the\s+|what[’']?s\s+the\s+|what\s+is\s+the\s+)?(?:meaning|definition)\s+of\b)",
    re.IGNORECASE,
)
_ARTICLES: Final = frozenset({"the", "a", "an", "of", "our", "thi", "in", "and"})


@dataclass(frozen=True, slots=True)
class Concept:
    """A phrase of the question that stands for one thing."""

    text: str
    key: str
    words: tuple[str, ...]
    """Its stems."""
    definers: Mapping[int, float]
    """Passages that define it, and how surely; empty when none does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read."""

    text: str
    terms: tuple[Term, ...]
    synonyms: Mapping[str, tuple[str, ...]]
    """For a term's word: what may stand for it."""
    concepts: tuple[Concept, ...]
    references: tuple[Reference, ...]
    asks_meaning: bool
    """It asks what something is: "What is the Closing Date?", or names it and no more."""
    sides: tuple[frozenset[str], ...]
    """For a comparison the stems that only one side has, a set a side; else empty."""

    @property
    def words(self) -> tuple[str, ...]:
        """Everything the index is asked for."""
        forms = [form for term in self.terms for form in term.forms]
        others = [word for found in self.synonyms.values() for word in found]
        return tuple(dict.fromkeys((*forms, *others)))


Known = Callable[[Sequence[str]], Mapping[str, Mapping[int, float]]]
"""Tells which passages define which of some phrase keys."""


def read_asked(text: str, known: Known) -> Asked:
    """Read a question."""
    question = read_question(text)
    plain = " ".join(question.text.split())
    terms = tuple(_told(question)) or question.terms
    concepts = _concepts(plain, known)
    return Asked(
        text=question.text,
        terms=terms,
        synonyms=_synonyms(terms, concepts),
        concepts=concepts,
        references=tuple(islice(_references(plain), MANY_REFERENCES)),
        asks_meaning=_asks_meaning(plain, concepts),
        sides=compared_sides(plain),
    )


def without_references(asked: Asked) -> Asked:
    """Leave out the words that only name sections: their passages are known."""
    named = {one for reference in asked.references for one in stems(reference.text)}
    terms = tuple(term for term in asked.terms if not term.stems & named)
    return replace(asked, terms=terms) if terms else asked


def side_of(asked: Asked, number: int) -> Asked:
    """Return what a comparison asks about one of its sides."""
    others = frozenset().union(*(side for at, side in enumerate(asked.sides) if at != number))
    dropped = others | MEASURES
    own = asked.sides[number]
    terms = tuple(term for term in asked.terms if not (term.stems & dropped) or term.stems & own)
    return replace(
        asked,
        terms=terms or asked.terms,
        concepts=tuple(one for one in asked.concepts if not others.intersection(one.words)),
        asks_meaning=True,
        sides=(),
    )


def _asks_meaning(text: str, concepts: Sequence[Concept]) -> bool:
    if _ASKS_MEANING.match(text):
        return True
    named = {word for concept in concepts for word in concept.words}
    rest = [one for one in stems(text) if one not in named]
    return bool(concepts) and all(one in _ARTICLES for one in rest)


def _told(question: Question) -> Iterator[Term]:
    """Yield the words that say something, and names in one spelling; no guesses at names."""
    words = {word.casefold() for word in WORD.findall(question.text)}
    words.update(joined_forms(names_in(question.text, code=False)))
    return (term for term in question.terms if term.stems - EMPTY and term.word in words)


def is_about_meaning(word_stems: Iterable[str]) -> bool:
    """Tell whether a word only asks what something is."""
    return any(one in ABOUT_MEANING or one in EMPTY for one in word_stems)


def _synonyms(terms: Sequence[Term], concepts: Sequence[Concept]) -> dict[str, tuple[str, ...]]:
    """The words of a name mean the name: they have no synonyms."""
    named = {word for concept in concepts if len(concept.words) > 1 for word in concept.words}
    own = {one for term in terms for one in term.stems}
    found = {}
    for term in terms:
        if not term.stems & named:
            others = tuple(word for word in synonyms_of(term.word) if stem(word) not in own)
            if others:
                found[term.word] = others
    return found


def _references(text: str) -> Iterable[Reference]:
    taken: list[tuple[int, int]] = []
    for pattern in (_REFERENCE, _BARE):
        for found in pattern.finditer(text):
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue
            groups = found.groupdict()
            label, number = groups.get("label") or "", found["number"]
            if label and number.isalpha() and not number.isupper():
                continue  # "part a", "item i": a word, not a number
            taken.append(found.span())
            inner = tuple(re.findall(r"\(([a-z0-9]+)\)", found["inner"], re.IGNORECASE))
            yield Reference(label_of(label), number_key(number), inner, " ".join(found[0].split()))


def _spans(word_stems: list[str]) -> list[tuple[int, int]]:
    """Return where a name may stand: between words that say something."""
    count = len(word_stems)
    return [
        (start, start + length)
        for length in range(min(LONGEST_PHRASE, count), 0, -1)
        for start in range(count - length + 1)
        if word_stems[start] not in EMPTY and word_stems[start + length - 1] not in EMPTY
    ]


def _written_as_names(text: str) -> set[str]:
    """Return the keys of what stands in quotes or has capitals."""
    quoted = {phrase_key(found["text"]) for found in _QUOTED.finditer(text)}
    return quoted | {phrase_key(found[0]) for found in _NAME.finditer(text)}


def _concepts(text: str, known: Known) -> tuple[Concept, ...]:
    words = WORD.findall(re.sub(r"[’']s\b", "", text))[:MANY_WORDS]
    word_stems = [stem(word.casefold()) for word in words]
    spans = _spans(word_stems)
    keys = dict.fromkeys(" ".join(word_stems[start:end]) for start, end in spans)
    definers = known(tuple(keys))
    named = _written_as_names(text)
    chosen: dict[int, Concept] = {}
    taken: set[int] = set()
    for start, end in spans:
        key = " ".join(word_stems[start:end])
        if taken.intersection(range(start, end)) or not (key in definers or key in named):
            continue
        if end - start == 1 and word_stems[start] in ABOUT_MEANING:
            continue
        taken.update(range(start, end))
        chosen[start] = Concept(
            " ".join(words[start:end]), key, tuple(word_stems[start:end]), definers.get(key, {})
        )
    return tuple({one.key: one for _, one in sorted(chosen.items())}.values())
