"""What a question asks of documents: words, terms that documents define, sections.

The store is asked only which of the question's phrases it knows (`known`); all else is reading.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from kds.brain.documents.definitions import LONGEST_TERM
from kds.brain.documents.values import label_of, number_key, pattern_list, patterns
from kds.brain.passages.question import Question, Term, read_question
from kds.brain.words.terms import (
    ABOUT_MEANING,
    EMPTY,
    WORD,
    joined_forms,
    names_in,
    phrase_key,
    stem,
    stems,
)

MANY_REFERENCES, MANY_WORDS = 8, 60
"""Of a question: sections that it may name, and words in which phrases are looked for."""

_FORMS: Final = patterns("questions")
_REFERENCES: Final = pattern_list("references")
_NAMES: Final = pattern_list("names")
_ARTICLES: Final = frozenset({"the", "a", "an", "of", "our", "thi", "in", "and"})


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in Path(__file__).with_name("synonyms.txt").read_text(encoding="utf-8").splitlines():
        head, _, others = line.partition(": ")
        known = found.get(stem(head), ())
        found[stem(head)] = tuple(dict.fromkeys((*known, *others.split())))
    return found


SYNONYMS: Final = _by_stem()
"""Stem -> words that may stand for it in a document."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A section that the question names: "Section 4.02"."""

    label: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Concept:
    """A phrase of the question that stands for one thing."""

    text: str
    key: str
    definers: Mapping[int, float]
    """Passages that define it, and how surely; empty when none does."""

    @property
    def words(self) -> tuple[str, ...]:
        """Its stems."""
        return tuple(self.key.split(" "))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read."""

    terms: tuple[Term, ...]
    synonyms: Mapping[str, tuple[str, ...]]
    """For a term's word: what may stand for it."""
    concepts: tuple[Concept, ...]
    references: tuple[Reference, ...]
    asks_meaning: bool
    """It asks what something is: "What is the Closing Date?", or names it and no more."""

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
        terms=terms,
        synonyms=_synonyms(terms, concepts),
        concepts=concepts,
        references=tuple(islice(_references(plain), MANY_REFERENCES)),
        asks_meaning=_asks_meaning(plain, concepts),
    )


def without_references(asked: Asked) -> Asked:
    """Leave out the words that only name sections: their passages are known."""
    named = {one for reference in asked.references for one in stems(reference.text)}
    terms = tuple(term for term in asked.terms if not term.stems & named)
    return replace(asked, terms=terms) if terms else asked


def _asks_meaning(text: str, concepts: Sequence[Concept]) -> bool:
    if _FORMS["asks meaning"].match(text):
        return True
    named = {word for concept in concepts for word in concept.words}
    return bool(concepts) and all(one in named or one in _ARTICLES for one in stems(text))


def _told(question: Question) -> Iterator[Term]:
    """Yield the words that say something, and names in one spelling; no guesses at names."""
    told = {word.casefold() for word in WORD.findall(question.text)}
    told.update(joined_forms(names_in(question.text, code=False)))
    return (term for term in question.terms if term.stems - EMPTY and term.word in told)


def _synonyms(terms: Sequence[Term], concepts: Sequence[Concept]) -> dict[str, tuple[str, ...]]:
    """The words of a name mean the name: they have no synonyms."""
    named = {word for concept in concepts if len(concept.words) > 1 for word in concept.words}
    own = {one for term in terms for one in term.stems}
    found = {
        term.word: tuple(
            word for word in SYNONYMS.get(stem(term.word.casefold()), ()) if stem(word) not in own
        )
        for term in terms
        if not term.stems & named
    }
    return {word: others for word, others in found.items() if others}


def _references(text: str) -> Iterator[Reference]:
    taken: list[tuple[int, int]] = []
    for found in (one for form in _REFERENCES for one in form.finditer(text)):
        if any(start < found.end() and found.start() < end for start, end in taken):
            continue
        label, number = found.groupdict().get("label") or "", found["number"]
        if label and number.isalpha() and not number.isupper():
            continue  # "part a", "item i": a word, not a number
        taken.append(found.span())
        yield Reference(label_of(label), number_key(number), " ".join(found[0].split()))


def _concepts(text: str, known: Known) -> tuple[Concept, ...]:
    """Find the phrases that documents define or that are written as names, the longest first."""
    said = WORD.findall(re.sub(r"[’']s\b", "", text))[:MANY_WORDS]
    own = [stem(word.casefold()) for word in said]
    spans = {
        (start, start + length): " ".join(own[start : start + length])
        for length in range(min(LONGEST_TERM, len(own)), 0, -1)
        for start in range(len(own) - length + 1)
        if own[start] not in EMPTY and own[start + length - 1] not in EMPTY
    }
    definers = known(tuple(dict.fromkeys(spans.values())))
    named = {phrase_key(found["name"]) for form in _NAMES for found in form.finditer(text)}
    chosen: dict[int, Concept] = {}
    taken: set[int] = set()
    for (start, end), key in spans.items():
        if taken.intersection(range(start, end)) or not (key in definers or key in named):
            continue
        if end - start == 1 and own[start] in ABOUT_MEANING:
            continue
        taken.update(range(start, end))
        chosen[start] = Concept(" ".join(said[start:end]), key, definers.get(key, {}))
    return tuple({one.key: one for _, one in sorted(chosen.items())}.values())
