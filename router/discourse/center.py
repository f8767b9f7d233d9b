"""Centers: what a question or "tell me about" makes the talk about (Grosz et al. 1995)."""

from collections.abc import Sequence
from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.words import Analysis, Phrase, Role, Word

RELATIONAL_NOUNS: Final = words("nouns", "relational")
_MEASURES: Final = words("nouns", "measures")
_ABSTRACT_ENDINGS: Final = ("tion", "sion", "ment", "ance", "ence", "ity", "ness", "gth", "ing")

_NEW: Final = frozenset({"a", "an"})
""" "a rollback of a service": what is brought up is the rollback."""

_TELLING: Final = words("verbs", "telling")


def _is_part(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the attic of a queue": a thing of its own, which any queue has, and not its size."""
    head = singular(words[phrase.head].lower)
    about = head in RELATIONAL_NOUNS | _MEASURES or head.endswith(_ABSTRACT_ENDINGS)
    new = [w.lower for w in words[phrase.end + 1 : phrase.end + 2]]
    return phrase.determiner == "the" and not _NEW.isdisjoint(new) and not about


def is_topic(analysis: Analysis, phrase: Phrase) -> bool:
    """The center that a question or "tell me about" sets (Grosz, Joshi and Weinstein 1995).

    Of "the history of X" it is X, of "a breach of X" the breach; of "X's history" neither: X is
    a topic already, or it is the history that is new.
    """
    if phrase.determiner in cc.DEMONSTRATIVES or _has_possessor(analysis.words, phrase):
        return False
    if phrase.prep == "of":
        owned = next((p for p in analysis.phrases if p.end == phrase.start - 1), None)
        if owned is None or not _is_owned(analysis.words, owned):
            return False
        relational = singular(analysis.words[owned.head].lower) in RELATIONAL_NOUNS
        return relational or (owned.determiner not in _NEW and _is_center(analysis, owned))
    return _is_center(analysis, phrase) and not _is_owned(analysis.words, phrase)


def _is_center(analysis: Analysis, phrase: Phrase) -> bool:
    words = analysis.words
    if singular(words[phrase.head].lower) in RELATIONAL_NOUNS:
        return False
    clause = analysis.clauses[phrase.clause]
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    if phrase.prep == "about" and words[phrase.start - 1].lower == "about":
        opening = words[clause.start].lower
        return verb in _TELLING or opening in {"what", "how", "and", "about"}
    if phrase.role == "obj" and verb in {"describe", "explain", "discuss", "define", "introduce"}:
        return True
    introduced = _introduced(analysis, phrase)
    if introduced is not None:
        return phrase is introduced
    asked = clause.mood == "question" and not clause.subordinate
    if not (asked or _is_asked_condition(analysis, phrase)) or phrase.determiner in cc.WH:
        return False
    rivals = [
        p for p in analysis.phrases if p.clause == phrase.clause and p.determiner not in cc.WH
    ]
    if len(named := [p for p in rivals if not _is_counted(words, p)]) > 0:
        rivals = named
    if phrase not in rivals:
        return False
    order: tuple[Role, ...] = ("subj", "obj", "pobj")
    best = next((role for role in order if any(p.role == role for p in rivals)), None)
    return phrase.role == best and phrase == next(p for p in rivals if p.role == best)


def _is_asked_condition(analysis: Analysis, phrase: Phrase) -> bool:
    """ "What happens if the date falls on a Sunday?" asks about the date."""
    clause = analysis.clauses[phrase.clause]
    opening = [w.lower for w in analysis.words[: clause.start + 1] if w.pos != "PUNCT"]
    while opening and opening[0] in {"and", "but", "so", "ok", "okay"}:
        opening.pop(0)
    asked = opening[:2] in (["what", "happens"], ["what", "if"])
    return asked and len(opening) <= 3 and clause.subordinate


def _introduced(analysis: Analysis, phrase: Phrase) -> Phrase | None:
    """What "there is" brings up in the clause of ``phrase``, when the message asks about it.

    "Is there a penalty for late delivery?", "There is a cap, isn't there?": the penalty, the cap.
    """
    words, clause = analysis.words, analysis.clauses[phrase.clause]
    if clause.subordinate or all(c.mood != "question" for c in analysis.clauses):
        return None
    for i in range(clause.start, clause.end):
        if words[i].lower != "there":
            continue
        beside = {w.lower for w in (*words[max(clause.start, i - 1) : i], *words[i + 1 : i + 2])}
        if beside & cc.BE:
            inside = (p for p in analysis.phrases if p.clause == phrase.clause and p.start > i)
            return next((p for p in inside if not p.prep), None)
    return None


def _is_counted(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "how many pages do the cartridges last": asked for, and not asked about."""
    return phrase.start > 0 and words[phrase.start - 1].lower == "how"


def _is_owned(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the function of X", "X's function": what is asked about is X."""
    numbered = any(w.pos in {"NUM", "PROPN"} for w in words[phrase.head : phrase.end])
    new = phrase.determiner in _NEW and singular(words[phrase.head].lower) not in RELATIONAL_NOUNS
    of_follows = phrase.end < len(words) and words[phrase.end].lower == "of"
    of_follows = of_follows and not numbered and not new and not _is_part(words, phrase)
    return of_follows or _has_possessor(words, phrase)


def _has_possessor(words: Sequence[Word], phrase: Phrase) -> bool:
    return any(w.lower in {"'s", "'"} for w in words[phrase.start : phrase.head])
