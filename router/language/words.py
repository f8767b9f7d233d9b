"""Values of a shallow analysis: words, noun phrases, clauses.

Offsets are characters of the analysed text; indices are word positions. Parts of speech are
the Universal Dependencies tags (https://universaldependencies.org/u/pos/).
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from kds.router.english import English, load_english

Mood = Literal["imperative", "question", "statement", "fragment"]
Number = Literal["sg", "pl"]
Role = Literal["subj", "obj", "pobj", "of", "poss", "none"]


@dataclass(frozen=True, slots=True)
class Word:
    """One token. ``tag`` is a Penn tag where it matters (VB, VBZ, VBD, VBN, VBG), else ""."""

    i: int
    text: str
    start: int
    end: int
    pos: str
    lemma: str
    tag: str = ""
    kind: str = ""
    """"path", "url", "code", "flag", "endpoint", "quote", "number" for special shapes, else ""."""

    lower: str = field(init=False, repr=False, compare=False)
    """The text in lower case, with straight apostrophes. Rules ask for it hundreds of times."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", self.text.lower().replace("’", "'"))

    @property
    def in_capitals(self) -> bool:
        """ "PUT", "API"; not "I"."""
        return len(self.text) > 1 and self.text.isupper()


@dataclass(frozen=True, slots=True)
class Clause:
    """A run of words around one verb group. ``start``/``end`` are word positions."""

    start: int
    end: int
    verb: int | None
    """Position of the main verb, None in a fragment."""
    mood: Mood
    subordinate: bool
    """True for relative, if/when/because and complement clauses."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A base noun phrase: determiner, modifiers, head; ``start``/``end`` are word positions."""

    start: int
    end: int
    head: int
    role: Role
    prep: str
    """The preposition in front of it, else ""."""
    verb: int | None
    """Position of the verb it is an argument of."""
    clause: int
    determiner: str
    """Lower case: "the", "a", "my", "all", ..., or "" when bare."""
    core: int
    """Position of the first word after determiners and numerals-as-determiners."""
    number: Number
    group: int
    """Id of the coordination it is a member of, -1 when none."""
    possessor: bool = False
    """True when it ends in a possessive ('s) and belongs to the next phrase."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """What the language layer found in a text. Compared by identity: one text, one analysis."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[Phrase, ...]
    clauses: tuple[Clause, ...]
    entities: tuple[tuple[int, int, str, str], ...] = ()
    """(first word, end word, label, canonical id or "")."""
    english: English = field(default_factory=load_english, repr=False)
    """The word lists it was made with."""

    @cached_property
    def phrase_at(self) -> dict[int, Phrase]:
        """Maps every word position inside a phrase to the phrase."""
        return {i: phrase for phrase in self.phrases for i in range(phrase.start, phrase.end)}

    def phrase_of(self, start: int, end: int) -> Phrase | None:
        """The phrase with exactly these word positions."""
        return next((p for p in self.phrases if p.start == start and p.end == end), None)

    def span(self, start: int, end: int) -> str:
        """The text of the words ``start`` up to but not including ``end``."""
        if start >= end:
            return ""
        return self.text[self.words[start].start : self.words[end - 1].end]

    def clause_of(self, i: int) -> int:
        """Index of the clause that holds word ``i``."""
        return self._clause_at.get(i, len(self.clauses) - 1)

    @cached_property
    def _clause_at(self) -> dict[int, int]:
        numbered = list(enumerate(self.clauses))
        return {i: at for at, clause in reversed(numbered) for i in range(clause.start, clause.end)}

    def label(self, start: int, end: int) -> str:
        """Entity label that ends where the span ends (its head decides), else ""."""
        for first, stop, label, _ in self.entities:
            if stop == end and first >= start:
                return label
        return ""
