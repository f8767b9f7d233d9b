"""What the tagger works on: one mutable note per token while a sentence is being tagged."""

from dataclasses import dataclass
from typing import Final

from kds.router.english import English, words
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
    verb_first: bool = False
    noun_first: bool = False
    adjective_first: bool = False
    """Whether this reading of the word is the usual one."""

    @property
    def rather_verb(self) -> bool:
        """More often a verb, and not more often a noun."""
        return self.verb_first and not self.noun_first

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


_BASE_LIKE_PAST: Final = words("verbs", "base_like_past")


@dataclass(slots=True)
class Sentence:
    """Tokens of one sentence with look-around that never leaves the sentence."""

    drafts: list[Draft]
    english: English

    def at(self, i: int) -> Draft | None:
        """The token at ``i``, None outside."""
        return self.drafts[i] if 0 <= i < len(self.drafts) else None

    def pos(self, i: int) -> str:
        """Part of speech decided so far, "" outside or undecided."""
        return self.drafts[i].pos if 0 <= i < len(self.drafts) else ""

    def lower(self, i: int) -> str:
        """Lower-case text, "" outside."""
        return self.drafts[i].lower if 0 <= i < len(self.drafts) else ""


def draft(text: str, english: English) -> Draft:
    """Look the token up; nothing is decided yet."""
    lower, usual = text.lower().replace("’", "'"), english.preferences
    return Draft(
        text,
        lower,
        shape(text),
        readings(lower),
        verb_first=lower in usual["verb_first"],
        noun_first=lower in usual["noun_first"],
        adjective_first=lower in usual["adjective_first"],
    )
