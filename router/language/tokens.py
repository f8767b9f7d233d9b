"""What the tagger works on: one mutable note per token while a sentence is being tagged."""

from dataclasses import dataclass, field

from kds.router.language.lexicon import Reading, readings
from kds.router.language.shapes import shape


@dataclass(slots=True)
class Draft:
    """A token being tagged. Lives only inside one call of the tagger."""

    text: str
    lower: str
    kind: str
    reading: Reading
    pos: str = ""
    tag: str = ""
    forced: str = ""

    @property
    def base(self) -> bool:
        """Can be the base form of a verb."""
        return self.reading.verb == self.lower

    @property
    def third(self) -> bool:
        """Can be a third person singular verb."""
        return bool(self.reading.verb) and self.lower.endswith("s") and not self.base

    @property
    def gerund(self) -> bool:
        """Ends in -ing and is a form of a verb."""
        return self.lower.endswith("ing") and self.reading.verb not in ("", self.lower)

    @property
    def past(self) -> bool:
        """Can be a past tense or past participle."""
        return (
            bool(self.reading.verb)
            and not self.third
            and not self.gerund
            and (not self.base or self.lower in _BASE_LIKE_PAST)
        )

    @property
    def nominal(self) -> bool:
        """Can stand inside a noun phrase after its determiner."""
        if self.pos:
            return self.pos in {"NOUN", "PROPN", "ADJ", "NUM"}
        return bool(self.reading.noun or self.reading.adjective or not self.reading.known) or (
            self.gerund or self.past
        )


_BASE_LIKE_PAST = frozenset("put set cut hit let shut cost quit split read".split())


@dataclass(slots=True)
class Sentence:
    """Tokens of one sentence with look-around that never leaves the sentence."""

    drafts: list[Draft] = field(default_factory=list)

    def pos(self, i: int) -> str:
        """Part of speech decided so far, "" outside or undecided."""
        return self.drafts[i].pos if 0 <= i < len(self.drafts) else ""

    def lower(self, i: int) -> str:
        """Lower-case text, "" outside."""
        return self.drafts[i].lower if 0 <= i < len(self.drafts) else ""


def draft(text: str) -> Draft:
    """Look the token up; nothing is decided yet."""
    lower = text.lower().replace("’", "'")
    return Draft(text, lower, shape(text), readings(lower))
