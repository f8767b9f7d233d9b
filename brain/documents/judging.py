"""The second look at what the index found: words, phrases, definitions, sections, all in one score.

Every signal is worth as much as the rarity of what it is about, so that one rare word does not
lose against three common ones.

The weights below were set by hand on 162 questions over an agreement, an API guide, a handbook, two
contracts and the pages of docs/, and eight of the ten were tried, one at a time, at about half and
twice their worth: none moved recall@5 by more than one question. On 91 questions over three other
documents that nobody had tuned on, recall@5 of questions that stand alone was 100 %.
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kds.brain.documents.question import Asked, Concept, is_about_meaning
from kds.brain.documents.synonyms import WORTH
from kds.brain.passages.question import Term
from kds.brain.words.stems import has_phrase, said, stem, stem_line

SATURATION: Final = 1.0
"""BM25's k1."""

LENGTH: Final = 0.35
"""BM25's b: passages are cut to a size, so their lengths say little."""

OWN_HEADING: Final = 1.5
"""A word of the section's own heading counts as often as that."""

UPPER_HEADING: Final = 1.0
"""A word of the headings above, or of the document's title. Of 18 questions over 38 documents (the
pages of docs/) .5 finds one fewer among the first five."""

NEARBY: Final = 0.35
"""A word that only stands beside the passage in its section."""

SCATTERED: Final = 0.45
"""What a word of a name is worth where the name is not: "Closing Date" is no Determination Date."""

PHRASE: Final = 0.5
"""A name that stands there as a whole, of the rarity of its words."""

DEFINITION: Final = 3.0
"""A passage that defines what the question is about, times the share of the question that asks
for just that: all of "What is the Closing Date?", little of a question that only names it."""

MENTIONED: Final = 0.12
"""That share for a question that only names the thing: how it is defined is always of use."""

REFERENCE: Final = 14.0
"""A passage of the section that is named by number: two very rare words."""

COVERAGE: Final = 0.35
"""How much of the score depends on how much of the question is there at all."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage as it is judged: its stems, and those of what is around it."""

    chunk_id: int
    document: str
    title: str
    path: str
    """The headings that lead to it, as JSON: many passages share them."""
    tokens: int
    stems: str
    beside: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What the second look made of a passage. The parts add up to the score before coverage."""

    score: float
    words: float
    definition: float
    reference: float
    has: tuple[str, ...]
    """Words of the question that it has."""
    near: tuple[str, ...]
    """Words that only stand beside it."""
    defines: tuple[str, ...]
    refers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """All that is known when the passages of one question are judged."""

    asked: Asked
    rarities: Mapping[str, float]
    """Of each term's word."""
    referred: Mapping[int, tuple[float, str]]
    """Passages of sections that the question names."""
    mean_tokens: float

    def judge(self, candidates: Iterable[Candidate]) -> dict[int, Judged]:
        """Score passages; those that have nothing of the question are left out."""
        seekers = tuple(map(self._seeker, self.asked.terms))
        named = tuple((one, self._rarity(one)) for one in self.asked.concepts)
        share = max(self.asked_share**2 if self.asked.asks_meaning else 0.0, MENTIONED)
        found = {}
        for one in candidates:
            judged = self._judge(one, seekers, named, share)
            if judged.score > 0.0:
                found[one.chunk_id] = judged
        return found

    @property
    def asked_share(self) -> float:
        """How much of the question is the names in it, the rest only asking what they are."""
        named = {word for concept in self.asked.concepts for word in concept.words}
        total = own = 0.0
        for term in self.asked.terms:
            weight = self.rarities.get(term.word, 0.0)
            if term.stems & named:
                own += weight
                total += weight
            elif not is_about_meaning(term.stems):
                total += weight
        return own / total if total else 0.0

    def _seeker(self, term: Term) -> "_Seeker":
        others = self.asked.synonyms.get(term.word, ())
        return _Seeker(
            term.word,
            self.rarities.get(term.word, 0.0),
            tuple(term.stems),
            tuple({stem(word) for word in others}),
            tuple(
                one.key
                for one in self.asked.concepts
                if len(one.words) > 1 and term.stems.intersection(one.words)
            ),
        )

    def _judge(
        self,
        one: Candidate,
        seekers: Sequence["_Seeker"],
        named: Sequence[tuple[Concept, float]],
        share: float,
    ) -> Judged:
        heading, _ = heading_lines(one.title, one.path)
        phrases = _phrases(one, heading, named)
        words = self._words(one, seekers, {concept.key for concept, _ in phrases})
        score = words.score + sum(PHRASE * worth for _, worth in phrases)
        defined = [(concept, worth) for concept, worth in named if one.chunk_id in concept.definers]
        definition = sum(
            DEFINITION * share * worth * concept.definers[one.chunk_id]
            for concept, worth in defined
        )
        fit, name = self.referred.get(one.chunk_id, (0.0, ""))
        reference = REFERENCE * fit * _inner_fit(self.asked, one.stems) if fit else 0.0
        return Judged(
            score=score + definition + reference,
            words=score,
            definition=definition,
            reference=reference,
            has=tuple(words.has),
            near=tuple(words.near),
            defines=tuple(concept.text for concept, _ in defined),
            refers=(name,) if fit else (),
        )

    def _words(self, one: Candidate, seekers: Sequence["_Seeker"], names: Set[str]) -> "_Words":
        """Score the words of the question; ``names``: keys of the names that are there as such."""
        heading, above = heading_lines(one.title, one.path)
        norm = SATURATION * (1.0 - LENGTH + LENGTH * one.tokens / self.mean_tokens)
        score = covered = total = 0.0
        has: list[str] = []
        near: list[str] = []
        for seeker in seekers:
            total += seeker.rarity
            own = seeker.own(one.stems, heading, above)
            count = own or NEARBY * seeker.is_in(one.beside)
            if not count:
                continue
            if seeker.names and names.isdisjoint(seeker.names):
                count *= SCATTERED
            score += seeker.rarity * count * (SATURATION + 1.0) / (count + norm)
            covered += seeker.rarity * min(own, 1.0)
            (has if own >= WORTH else near).append(seeker.word)
        score *= 1.0 - COVERAGE + COVERAGE * (covered / total if total else 0.0)
        return _Words(score, has, near)

    def _rarity(self, concept: Concept) -> float:
        return sum(
            self.rarities.get(term.word, 0.0)
            for term in self.asked.terms
            if term.stems.intersection(concept.words)
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """What the words of a question score in a passage, those it has, those beside it."""

    score: float
    has: list[str]
    near: list[str]


@dataclass(frozen=True, slots=True)
class _Seeker:
    """A term on the search for itself in lines of stems."""

    word: str
    rarity: float
    stems: tuple[str, ...]
    others: tuple[str, ...]
    """Of its synonyms."""
    names: tuple[str, ...]
    """The keys of the names that it is a part of."""

    def own(self, text: str, heading: str, above: str) -> float:
        """Return how often a passage has it, headings included."""
        own = float(sum(said(text, one) for one in self.stems))
        own += OWN_HEADING * self.is_in(heading) + UPPER_HEADING * self.is_in(above)
        if own < 1.0 and any(f" {one} " in text or f" {one} " in heading for one in self.others):
            return max(own, WORTH)
        return own

    def is_in(self, line: str) -> bool:
        """Tell whether a line has it."""
        return any(f" {one} " in line for one in self.stems)


def _phrases(
    one: Candidate, heading: str, named: Sequence[tuple[Concept, float]]
) -> list[tuple[Concept, float]]:
    """Return the names that stand as a whole in a passage or its heading."""
    return [
        (concept, worth)
        for concept, worth in named
        if has_phrase(one.stems, concept.key) or has_phrase(heading, concept.key)
    ]


@lru_cache(maxsize=20_000)
def heading_lines(title: str, path: str) -> tuple[str, str]:
    """Return the stems of the own heading, and of those above and the title."""
    headings = json.loads(path)
    own = headings[-1] if headings else ""
    return stem_line(own), stem_line(" ".join((title, *headings[:-1])))


def _inner_fit(asked: Asked, line: str) -> float:
    """Say how well a passage fits "(b)" behind the number of a section."""
    inner = [one for reference in asked.references for one in reference.inner]
    return 1.0 if not inner or said(line, inner[0].casefold()) else 0.7
