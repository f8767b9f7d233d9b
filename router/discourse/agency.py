"""Who can do something: persons, parties, roles and groups, and not the things they deal with."""

from typing import Final

from kds.router.discourse.mention import Mention
from kds.router.language.lexicon import singular

_ROLE_ENDINGS: Final = ("ee", "ist", "ant", "ian", "holder", "woman", "person")
_DOING_ENDINGS: Final = ("er", "or")
_ACTING_LABELS: Final = frozenset({"PARTY", "ROLE", "GROUP", "PERSON"})


def agency(mention: Mention) -> float:
    """How surely it is somebody: 1 for a person, a party, a group or a role, 0 for a thing.

    Roles are known by their ending: -ee, -ist, -ant, -holder. What ends in -er or -or is one when
    it is written as a defined term ("the Servicer"), and may be a tool ("exporter") otherwise.
    """
    if mention.parts:
        return min(agency(part) for part in mention.parts)
    head = singular(mention.head.lower())
    if mention.person or mention.label in _ACTING_LABELS or mention.people:
        return 1.0
    capital = mention.head_text[:1].isupper()
    if mention.kind or (capital and not mention.determiner and mention.number == "sg"):
        return 0.0  # "Docker", "Norwegian": a name, which no ending tells about
    if head.endswith(_ROLE_ENDINGS) and len(head) > 5:
        return 1.0
    if head.endswith(_DOING_ENDINGS) and len(head) > 4:
        return 1.0 if capital else 0.5
    return 0.0


def acts(mention: Mention) -> bool:
    """True when it may be somebody."""
    return agency(mention) > 0


def is_individual(mention: Mention) -> bool:
    """True when "he" or "she" may mean it: somebody, and neither several nor a group."""
    group = mention.label == "GROUP" or mention.group
    return mention.number == "sg" and not mention.parts and not group and is_somebody(mention)


def is_somebody(mention: Mention) -> bool:
    """True when "they" may mean it: a person, a party, a role, one who does things.

    What ends in -er counts where it acts as a subject ("When does the importer ...").
    """
    sure = agency(mention)
    return sure == 1.0 or (sure > 0 and mention.role == "subj" and mention.label != "CODE")
