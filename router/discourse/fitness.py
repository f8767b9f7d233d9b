"""What the place of a pronoun asks for: somebody who acts, or a thing that something is done to.

Of "the Tenant" and "the deposit", the tenant has, pays and decides, and the deposit is paid,
returned and due. The place is read off the clause around the pronoun. Classes of verbs after
Levin, English Verb Classes and Alternations (1993): happening and being (45-48), and verbs whose
object is a person (29, 31, 33, 37).
"""

from collections.abc import Sequence
from typing import Final, Literal

from kds.router.discourse.history import Discourse
from kds.router.discourse.mention import Mention, agency
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Role, Word

Slot = Literal["actor", "thing", ""]

FITS: Final = 3.2
"""Somebody where an actor is asked for: more than the topic counts (`salience.TOPIC`), since
questions are mostly about the thing, and it is not the thing that has, pays and decides."""
FADING: Final = 0.6
"""What is left of that with each message in between: a newer thing may act ("does it print")."""
BESIDE: Final = 0.3
"""What is left of it for somebody who was not a subject ("a report for the finance team")."""
MISFITS: Final = 0.25
"""Somebody where a thing is asked for ("is it paid", "when is it due")."""


_HAPPENING: Final = words("verbs", "happening")
_ALTERNATING: Final = words("verbs", "alternating")
_OF_PEOPLE: Final = words("verbs", "of_people")
_LICENSED: Final = words("verbs", "licensing")
_OF_ACTORS: Final = words("qualities", "of_actors")
_OBLIGED: Final = frozenset({"have", "need", "want", "get", "be"})


def slot_of(analysis: Analysis, i: int, role: Role, verb: str) -> Slot:
    """What the pronoun at word ``i`` stands for by its place; "" when it may be either."""
    word = analysis.words[i]
    if word.pos == "DET" or role in {"poss", "none"}:
        return ""
    if role != "subj":
        return "" if verb.split(" ")[0] in _OF_PEOPLE else "thing"
    clause = analysis.clauses[analysis.clause_of(i)]
    rest = analysis.words[i + 1 : clause.end]
    before = analysis.words[i - 1] if i else None
    inverted = before is not None and before.pos in {"AUX", "VERB"} and before.lemma == "be"
    return _said_of(rest, being=inverted)


def _said_of(rest: Sequence[Word], *, being: bool) -> Slot:
    """What the predicate behind a subject says it is."""
    obliged = False
    for k, word in enumerate(rest):
        if word.pos in {"ADV", "PART"} or (word.pos == "AUX" and word.lower in cc.MODALS | cc.DO):
            continue
        if word.lemma == "be" or word.lower in cc.BE:
            being = True
            continue
        if being:
            return _being(word)
        follows = rest[k + 1].lower if k + 1 < len(rest) else ""
        if word.lemma in _OBLIGED and follows in {"to", "be", "been"}:
            obliged = True
            continue
        if word.pos == "AUX" and word.lemma == "have" and follows:
            continue
        if word.pos not in {"VERB", "AUX"}:
            return ""
        alone = word.lemma in _ALTERNATING and not _takes_object(rest[k + 1 : k + 2])
        happens = word.lemma in _HAPPENING or alone
        return "actor" if not happens else "" if obliged else "thing"
    return "thing" if being else ""


def _being(word: Word) -> Slot:
    if word.tag in {"VBG"}:
        return ""
    licensed = word.lemma in _LICENSED or word.lower in _OF_ACTORS
    licensed = licensed or any(word.lower == f"{v}d" or word.lower == f"{v}ed" for v in _LICENSED)
    return "actor" if licensed else "thing"


def _takes_object(rest: Sequence[Word]) -> bool:
    return any(w.pos in {"DET", "PRON", "NOUN", "PROPN"} for w in rest)


def fitness(
    thing: Sequence[Mention], slot: Slot, discourse: Discourse, *, plural: bool = False
) -> float:
    """How well what was mentioned fits the place: 1 when nothing is known.

    ``plural`` says that several are meant, for which there are mostly no two to choose from.
    """
    if not slot:
        return 1.0
    if slot == "thing":
        return MISFITS if any(agency(m) == 1.0 for m in thing) else 1.0
    sure = max(
        agency(m) * (1.0 if m.role == "subj" or (plural and m.number == "pl") else BESIDE)
        for m in thing
    )
    age = min(discourse.age(m) for m in thing)
    return float(1.0 + (FITS - 1.0) * sure * FADING**age)


def dealt_with(mention: Mention, discourse: Discourse) -> bool:
    """The object of somebody's duty or right: what a question about it is about as well."""
    if mention.role != "obj" or not mention.beside_subject or mention.reply:
        return False
    moment = discourse.moments[mention.turn]
    return any(
        other.role == "subj" and other.end <= mention.start and agency(other) == 1.0
        for other in moment.mentions
    )
