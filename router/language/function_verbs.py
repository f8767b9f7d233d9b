"""To, do, have, 's and words between preposition and adverb: what they are, by what follows."""

from collections.abc import Callable
from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.function_words import (
    OPENERS,
    both_pos,
    closed_pos,
    comparative_pos,
    demonstrative_pos,
    first_pos,
    her_pos,
    is_particle,
    next_pos,
    no_pos,
    one_pos,
    so_pos,
    that_pos,
    there_pos,
    wh_adverb_pos,
    which_pos,
)
from kds.router.language.tokens import Sentence

Rule = Callable[[Sentence, int], str]
"""Decides the part of speech of a word in its sentence."""


def _to(s: Sentence, i: int) -> str:
    after = s.at(i + 1)
    if after is None or after.kind or not (after.base or after.lower in {"be", "have", "do"}):
        unknown_verb = (
            after is not None
            and not after.reading.known
            and after.text.islower()
            and s.lower(i - 1) in cc.INFINITIVE_GOVERNORS
            and closed_pos(after.lower) == ""
            and s.lower(i + 2)
            in cc.ARTICLES | cc.POSSESSIVES | {"it", "them", "this", "that", "all"}
        )
        return "PART" if unknown_verb else "ADP"
    if i == 0 or s.lower(i - 1) in cc.INFINITIVE_GOVERNORS:
        return "PART"
    if _goal_of_change(s, i) or (after.text[:1].isupper() and not after.text.isupper()):
        return "ADP"
    if not after.reading.noun:
        return "PART"
    nxt = s.at(i + 2)
    if nxt is not None and (
        nxt.lower in cc.ARTICLES | cc.POSSESSIVES | cc.PERSONAL | cc.DEMONSTRATIVES | cc.QUANTIFIERS
        or nxt.lower in cc.WH
        or nxt.kind
    ):
        return "PART"
    return "PART" if after.rather_verb else "ADP"


def _goal_of_change(s: Sentence, i: int) -> bool:
    """ "set LOG_LEVEL to debug", "upgrade X to version 5": what follows is the new value."""
    if not any(d.reading.verb in _CHANGES for d in s.drafts[: max(0, i - 1)]):
        return False
    after_that = s.at(i + 2)
    return after_that is None or bool(after_that.kind) or not after_that.text[:1].isalnum()


_CHANGES: Final = words("verbs", "to_a_value")


def _like(s: Sentence, i: int) -> str:
    return (
        "VERB"
        if s.lower(i - 1) in {"i", "you", "we", "they", "to", "would", "'d", "i'd"}
        else "ADP"
    )


def _apostrophe_s(s: Sentence, i: int) -> str:
    before = s.at(i - 1)
    if before is not None and before.lower == "let":
        return "PRON"
    if before is not None and (
        before.lower in cc.WH | cc.SUBJECTS | cc.PERSONAL or before.lower == "here"
    ):
        return "AUX"
    after = s.lower(i + 1)
    if after in cc.ARTICLES | cc.NEGATIONS | cc.PREPOSITIONS | {"been", "going", "gone", "done"}:
        return "AUX"
    return "PART"


def _do(s: Sentence, i: int) -> str:
    after, before = s.lower(i + 1), s.lower(i - 1)
    if after in {"not", "n't"} or before in cc.WH:
        return "AUX"
    opens = i == 0 or s.pos(i - 1) in OPENERS
    if opens and s.lower(i) != "do":
        return "AUX"
    nominative = {"i", "you", "we", "they", "he", "she"}
    if opens and after in nominative:
        return "AUX"
    if opens and s.lower(i) == "do":
        rest = s.drafts[i + 2 :]
        object_like = after in {
            "it",
            "that",
            "this",
            "the",
            "so",
            "both",
            "these",
            "those",
            "a",
            "all",
        }
        if object_like and not (s.lower(len(s.drafts) - 1) == "?" and any(d.base for d in rest)):
            return "VERB"
        asked = s.lower(len(s.drafts) - 1) == "?"
        return "AUX" if (asked and any(d.base for d in rest)) or _plural_does(s, i) else "VERB"
    if before in {"i", "you", "we", "they", "he", "she", "it", "that", "this", "which", "who"}:
        follow = s.at(i + 1)
        return "AUX" if follow and follow.base and not follow.reading.noun else "VERB"
    return "VERB" if before in {"to", "please", "'s", "and", "then"} | cc.MODALS else "AUX"


def _plural_does(s: Sentence, i: int) -> bool:
    """ "do late fees bear interest", without a question mark: a plural, then its verb."""
    for j in range(i + 2, len(s.drafts) - 1):
        before = s.drafts[j - 1]
        if closed_pos(before.lower):
            return False
        if before.lower.endswith("s") and before.reading.noun and s.drafts[j].base:
            return True
    return False


def _have(s: Sentence, i: int) -> str:
    for j in range(i + 1, min(i + 4, len(s.drafts))):
        token = s.drafts[j]
        if token.lower in {"been", "had", "done", "n't", "not", "to"} or token.past:
            return "AUX" if token.lower != "to" else "VERB"
        if closed_pos(token.lower) not in {"ADV", "PRON", "PART"}:
            break
    return "VERB"


def _adverb_or_preposition(s: Sentence, i: int) -> str:
    if s.lower(i + 1) in {"", ".", "?", "!", ","} and s.lower(i) in cc.PARTICLES:
        return "ADV"
    return "ADV" if is_particle(s, i) else "ADP"


def _temporal(s: Sentence, i: int) -> str:
    nxt = s.lower(i + 1)
    return "SCONJ" if nxt in cc.SUBJECTS - {"this", "that", "these", "those"} else "ADP"


def _right(s: Sentence, i: int) -> str:
    """ "right away", "right now"; else an open-class word."""
    return "ADV" if s.lower(i + 1) in {"away", "now", "here", "there", "after", "before"} else ""


def _always(pos: str) -> Rule:
    return lambda s, i: pos


_WORDS_BY_RULE: Final[dict[Rule, str]] = {
    that_pos: "that",
    demonstrative_pos: "this these those",
    both_pos: "both",
    which_pos: "which what",
    _to: "to",
    her_pos: "her",
    one_pos: "one",
    _always("PRON"): "ones",
    no_pos: "no",
    so_pos: "so",
    _like: "like",
    there_pos: "there",
    _apostrophe_s: "'s",
    _do: "do does did",
    _have: "have has had",
    wh_adverb_pos: "when where",
    first_pos: "first",
    next_pos: "next",
    _right: "right",
    comparative_pos: "more most less",
    _temporal: "before after since until once",
    _always("ADP"): "as",
    _adverb_or_preposition: " ".join([*cc.PARTICLES, "about"]),
}

AMBIGUOUS: Final = {word: rule for rule, words in _WORDS_BY_RULE.items() for word in words.split()}
"""Function words that need a look around, each with its rule."""
