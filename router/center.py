"""Centers: what a question or "tell me about" makes the talk about (Grosz et al. 1995)."""

from collections.abc import Sequence
from typing import Final

from kds.router import closed_class as cc
from kds.router.lexicon import singular
from kds.router.words import Analysis, Phrase, Role, Word

RELATIONAL_NOUNS: Final = frozenset(
    """type difference similarity advantage disadvantage effect cause symptom benefit characteristic
    feature aspect role example use number amount name kind impact result purpose way""".split()
)
"""Nouns that say something of another thing, which is more often what is meant later."""


_TELLING: Final = frozenset("tell talk know learn hear ask read think inform".split())


def is_topic(analysis: Analysis, phrase: Phrase) -> bool:
    """The center that a question or "tell me about" sets (Grosz, Joshi and Weinstein 1995).

    Of "the history of X" it is X; of "X's history" neither: X is a topic already, or it is
    the history that is new.
    """
    if phrase.determiner in cc.DEMONSTRATIVES or _has_possessor(analysis.words, phrase):
        return False
    if phrase.prep == "of":
        owned = next((p for p in analysis.phrases if p.end == phrase.start - 1), None)
        if owned is None or not _is_owned(analysis.words, owned):
            return False
        relational = singular(analysis.words[owned.head].lower) in RELATIONAL_NOUNS
        return relational or _is_center(analysis, owned)
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
    if clause.mood != "question" or clause.subordinate or phrase.determiner in cc.WH:
        return False
    rivals = [
        p for p in analysis.phrases if p.clause == phrase.clause and p.determiner not in cc.WH
    ]
    order: tuple[Role, ...] = ("subj", "obj", "pobj")
    best = next((role for role in order if any(p.role == role for p in rivals)), None)
    return phrase.role == best and phrase == next(p for p in rivals if p.role == best)


def _is_owned(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the function of X", "X's function": what is asked about is X."""
    numbered = any(w.pos in {"NUM", "PROPN"} for w in words[phrase.head : phrase.end])
    of_follows = phrase.end < len(words) and words[phrase.end].lower == "of" and not numbered
    return of_follows or _has_possessor(words, phrase)


def _has_possessor(words: Sequence[Word], phrase: Phrase) -> bool:
    return any(w.lower in {"'s", "'"} for w in words[phrase.start : phrase.head])
