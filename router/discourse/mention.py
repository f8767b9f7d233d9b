"""A mention: a noun phrase as a thing that later messages can refer to."""

from dataclasses import dataclass
from typing import Final, Literal

from kds.router.language import closed_class as cc
from kds.router.language.words import Number, Role

Mood = Literal["imperative", "question", "statement", "fragment"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that was talked about.

    ``text`` is the phrase without its determiner ("FAB button"); ``head`` the lower-case
    singular of its last noun. ``turn`` counts from the oldest message of the context.
    """

    text: str
    determiner: str
    head: str
    head_text: str
    modifiers: tuple[str, ...]
    number: Number
    role: Role
    prep: str
    verb: str
    mood: Mood
    subordinate: bool
    turn: int
    start: int
    end: int
    compound: str = ""
    """The nouns that end in the head ("pull requests" of "open pull requests")."""
    kind: str = ""
    label: str = ""
    canonical: str = ""
    name: str = ""
    """ "new_nav" of "a feature flag called new_nav"."""
    called: bool = False
    """The name stands behind "called" and is not part of ``text``."""
    person: bool = False
    people: bool = False
    """Its head is a noun of people; ``group``: of several, or of one that no "he" means."""
    group: bool = False
    beside_subject: bool = False
    """Its clause has a noun phrase for subject."""
    negated: bool = False
    """Behind not, without, instead of."""
    reply: bool = False
    """Said by the assistant."""
    topic: bool = False
    """The clause makes it the subject of talk: "tell me about X", "what is X"."""
    grouped: bool = False
    """A member of a coordination, which is a mention of its own."""
    name_like: bool = False
    """A proper name by its capitals: may be a person or several (a band, a company)."""
    person_like: bool = False
    """Two or more capitalised words, none a common noun: most likely a person."""
    result: bool = False
    """The new thing of "replace X with Y", "rename X to Y"."""
    parts: tuple["Mention", ...] = ()
    """Members when this is a coordination ("a save button and a cancel button")."""
    conjunction: str = "and"

    @property
    def is_name(self) -> bool:
        """A name by shape or capitals: rendered without an article when it came without one."""
        return bool(self.kind) or (self.head_text[:1].isupper() and self.determiner == "")

    def same_thing(self, other: "Mention") -> bool:
        """Same head, and the modifiers of one are all among the other's."""
        if self.parts or other.parts:
            return self.text.lower() == other.text.lower()
        if self.head != other.head or self.number != other.number:
            return bool(self.name) and self.name in (other.text, other.name)
        mine, theirs = set(self.modifiers), set(other.modifiers)
        return mine <= theirs or theirs <= mine


def is_time(mention: Mention) -> bool:
    """A point or span of time ("this week", "thirty seconds"): hardly ever an antecedent."""
    return mention.head in cc.TIME_NOUNS and all(
        m in _COUNTED or m.isdigit() for m in mention.modifiers
    )


_COUNTED: Final = cc.ORDINALS | cc.NUMBERS | {"few", "couple", "business", "working", "fiscal"}
