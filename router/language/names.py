"""Names: what may be a person or a group, by capitals and by what is done to it."""

from typing import Final

from kds.router.english import words
from kds.router.language.lexicon import forms, readings
from kds.router.language.words import Analysis, Phrase

_ADDRESSING: Final = words("verbs", "addressing")

_DOING: Final = words("verbs", "of_doers")


def is_person(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """Surely a person: one is asked, told or thanked by name."""
    if label == "PERSON":
        return True
    word = analysis.words[phrase.head]
    single = phrase.end - phrase.start == 1 and not label and not word.kind
    verb = analysis.words[phrase.verb].lemma if phrase.verb is not None else ""
    addressed = phrase.role == "obj" or phrase.prep in {"to", "with"}
    named = word.text[:1].isupper() and word.text[1:].islower()
    if phrase.role == "subj":
        unknown = word.lower not in forms() and not readings(word.lower).verb
        return single and named and unknown and verb in _DOING
    return single and named and addressed and word.i > 0 and verb in _ADDRESSING


def is_name_like(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """A proper name by its capitals: perhaps a person, perhaps several (a band, a company)."""
    word = analysis.words[phrase.head]
    spelled = word.in_capitals
    if word.kind or spelled or not word.text[:1].isupper():
        return False
    if label in {"PARTY", "ROLE"}:
        return False
    if word.i == 0 and phrase.end - phrase.start == 1:
        return phrase.role == "subj" and phrase.number == "sg" and word.lower not in forms()
    return word.pos == "PROPN"


def is_person_like(analysis: Analysis, phrase: Phrase) -> bool:
    """Two or three capitalised words, the last no common noun: "it" hardly ever means it."""
    words = analysis.words[phrase.start : phrase.end]
    capitals = all(w.text[:1].isupper() and w.text[1:].islower() for w in words)
    return 2 <= len(words) <= 3 and capitals and not readings(words[-1].lower).noun
