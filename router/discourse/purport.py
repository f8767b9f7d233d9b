"""What a sentence is out for: a thing, a deed, or putting something right.

"The player should be able to double jump" asks for a deed; "it" behind it is the jumping as often
as the player. "Can you add a footer?" is a command in all but form. "I meant the cookie" names a
value of what was talked about.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kds.router.discourse.mention import Mood
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Clause, Phrase, Word

_INDEFINITE: Final = frozenset({"a", "an", "another", "some"})
_ASKING: Final = frozenset({"can", "could", "will", "would"})
_ASKED: Final = frozenset({"you", "u", "we"})
_SPEAKERS: Final = frozenset({"i", "we", "you"})
_LETTING: Final = words("verbs", "letting")
_STATIVE: Final = words("verbs", "stative")
_INFORMING: Final = words("verbs", "informing") | words("verbs", "telling")
_REFUSING: Final = frozenset({"no", "nope", "nah", "not"})


def is_request(analysis: Analysis, clause: Clause) -> bool:
    """ "Can you add a footer?": asked in form, a command by what it is for."""
    if clause.mood != "question" or clause.verb is None:
        return False
    if analysis.words[clause.verb].lemma in _INFORMING:
        return False
    opening = [word.lower for word in analysis.words[clause.start : clause.verb]]
    return any(modal in _ASKING and asked in _ASKED for modal, asked in pairwise(opening))


def mood_of(analysis: Analysis, clause: Clause) -> Mood:
    """The mood by what the clause is for."""
    return "imperative" if is_request(analysis, clause) else clause.mood


def brings_up(analysis: Analysis, phrase: Phrase) -> bool:
    """ "A footer" of "add a footer", "we need a footer": new, and what comes next is about it."""
    clause = analysis.clauses[phrase.clause]
    if phrase.prep or clause.subordinate or phrase.role not in {"obj", "none", "subj"}:
        return False
    return phrase.determiner in _INDEFINITE and mood_of(analysis, clause) != "question"


def is_of_deed(analysis: Analysis) -> bool:
    """Whether the message is out for something being done, and not for a thing."""
    return any(_is_deed(analysis, i) or _lets(analysis, i) for i in range(len(analysis.clauses)))


def _is_deed(analysis: Analysis, index: int) -> bool:
    """ "The cart should remember its items": somebody or something is to do something."""
    clause = analysis.clauses[index]
    if clause.verb is None or clause.mood != "statement" or clause.subordinate:
        return False
    subject = _named_subject(analysis, index, clause.verb)
    due = subject is not None and _is_due(analysis.words[subject.end : clause.verb])
    return due and _is_done(analysis.words[clause.verb])


def _named_subject(analysis: Analysis, index: int, verb: int) -> Phrase | None:
    inside = (p for p in analysis.phrases if p.clause == index and not p.prep)
    return next((phrase for phrase in inside if phrase.end <= verb), None)


def _is_done(verb: Word) -> bool:
    return verb.pos == "VERB" and verb.tag != "VBN" and verb.lemma not in _STATIVE


def _is_due(between: Sequence[Word]) -> bool:
    """ "should", "must not", "has to", "needs to" between the subject and its verb."""
    if between and between[-1].lower in cc.BE:  # "should be blue"
        return False
    modal = any(word.lower in cc.MODALS for word in between)
    return modal or (len(between) > 1 and between[-1].lower == "to")


def _lets(analysis: Analysis, index: int) -> bool:
    """ "Let users reset their password", "I want the form to check the address"."""
    clause = analysis.clauses[index]
    return any(
        analysis.words[phrase.start - 1].lemma in _LETTING
        and phrase.start > clause.start
        and phrase.determiner not in _INDEFINITE
        and _does(analysis.words[phrase.end : phrase.end + 2])
        for phrase in analysis.phrases
        if phrase.clause == index and phrase.start
    )


def _does(behind: Sequence[Word]) -> bool:
    verbs = [word for word in behind if word.lower != "to"][:1]
    return any(
        word.pos == "VERB" and word.tag in {"VB", ""} and word.lemma not in _STATIVE
        for word in verbs
    )


def puts_right(analysis: Analysis) -> bool:
    """ "No, I meant localStorage", "no, teal instead of red": a value in the place of another."""
    return any(_means(analysis, clause) for clause in analysis.clauses) or _refuses(analysis)


def _means(analysis: Analysis, clause: Clause) -> bool:
    if clause.verb is None or analysis.words[clause.verb].lemma != "mean":
        return False
    return any(w.lower in _SPEAKERS for w in analysis.words[clause.start : clause.verb])


def _refuses(analysis: Analysis) -> bool:
    said = [word.lower for word in analysis.words]
    return said[:1] != [] and said[0] in _REFUSING and not _REPLACING.isdisjoint(said[1:])


_REPLACING: Final = frozenset({"not", "instead", "rather", "but"})


def judged(analysis: Analysis, i: int) -> bool:
    """Whether the clause of the subject at word ``i`` finds fault: "it is too slow"."""
    clause = analysis.clauses[analysis.clause_of(i)]
    behind = analysis.words[i + 1 : clause.end]
    return any(
        word.lower == "enough" or (word.lower == "too" and _has_quality(behind[at + 1 : at + 2]))
        for at, word in enumerate(behind)
    ) or any(word.lower in cc.NEGATIONS for word in behind)


def _has_quality(after: Sequence[Word]) -> bool:
    return any(word.pos in {"ADJ", "ADV"} for word in after)
