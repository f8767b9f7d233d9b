"""A mention: a noun phrase as a thing that later messages can refer to, or somebody who acts."""

from dataclasses import dataclass
from typing import Final, Literal

from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.words import Number, Role

Mood = Literal["imperative", "question", "statement", "fragment"]

_ROLE_ENDINGS: Final = ("ee", "ist", "ant", "ian", "holder", "woman", "person")
_DOING_ENDINGS: Final = ("er", "or")
_ACTING_LABELS: Final = frozenset({"PARTY", "ROLE", "GROUP", "PERSON"})
_COUNTED: Final = cc.ORDINALS | cc.NUMBERS | {"few", "couple", "business", "working", "fiscal"}


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
    brought_up: bool = False
    """New, in a command, a wish or a statement: "we need a footer"."""
    parts: tuple["Mention", ...] = ()
    """Members when this is a coordination ("a save button and a cancel button")."""
    conjunction: str = "and"

    @property
    def is_name(self) -> bool:
        """A name by shape or capitals: rendered without an article when it came without one."""
        return bool(self.kind) or (self.head_text[:1].isupper() and not self.determiner)

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
    counted = (m in _COUNTED or m.isdigit() for m in mention.modifiers)
    return mention.head in cc.TIME_NOUNS and all(counted)


def agency(mention: Mention) -> float:
    """How surely it is somebody: 1 for a person, a party, a group or a role, 0 for a thing.

    Roles are known by their ending: -ee, -ist, -ant, -holder. What ends in -er or -or is one when
    it is written as a defined term ("the Servicer"), and may be a tool ("exporter") otherwise.
    """
    if mention.parts:
        return min(agency(part) for part in mention.parts)
    if mention.person or mention.label in _ACTING_LABELS:
        return 1.0
    if mention.people:
        return 0.5 if " " in mention.compound and not mention.head_text[:1].isupper() else 1.0
    capital = mention.head_text[:1].isupper()
    if mention.kind or (capital and not mention.determiner and mention.number == "sg"):
        return 0.0  # "Docker", "Norwegian": a name, which no ending tells about
    head = singular(mention.head.lower())
    if head.endswith(_ROLE_ENDINGS) and len(head) > 5 and not head.endswith("list"):
        return 1.0
    return (1.0 if capital else 0.5) if head.endswith(_DOING_ENDINGS) else 0.0


def acts(mention: Mention) -> bool:
    """True when it may be somebody."""
    return agency(mention) > 0


def is_individual(mention: Mention) -> bool:
    """True when "he" or "she" may mean it: somebody, and neither several nor a group."""
    group = mention.label == "GROUP" or mention.group
    return mention.number == "sg" and not group and is_somebody(mention)


def is_somebody(mention: Mention) -> bool:
    """True when "they" may mean it: a person, a party, a role, one who does things.

    What ends in -er counts where it acts as a subject ("When does the importer ...").
    """
    sure = agency(mention)
    return sure == 1.0 or (sure > 0 and mention.role == "subj" and mention.label != "CODE")
