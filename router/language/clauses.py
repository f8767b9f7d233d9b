"""Clauses of a tagged text: where one verb group and its arguments begin and end."""

from collections.abc import Sequence
from typing import Final, Literal

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Clause, Word

Mood = Literal["imperative", "question", "statement", "fragment"]

_STOPS: Final = frozenset(".!?;:")


def find_clauses(words: Sequence[Word]) -> tuple[Clause, ...]:
    """Cut the words into clauses, left to right, each with its main verb and mood."""
    starts = _starts(words)
    clauses = []
    for index, (start, subordinate) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(words)
        verb = _main_verb(words, start, end)
        clauses.append(Clause(start, end, verb, _mood(words, start, end, verb), subordinate))
    return tuple(clauses)


def _starts(words: Sequence[Word]) -> list[tuple[int, bool]]:
    if not words:
        return []
    opens_subordinate = words[0].pos == "SCONJ" and words[0].lower not in {"so", "that"}
    starts: list[tuple[int, bool]] = [(0, opens_subordinate)]
    for i in range(1, len(words)):
        kind = _boundary(words, i, starts[-1])
        if kind is not None and i > starts[-1][0]:
            starts.append((i, kind))
    return starts


def _boundary(words: Sequence[Word], i: int, current: tuple[int, bool]) -> bool | None:
    """None: no clause begins at ``i``; else whether the clause that begins is subordinate."""
    word, before = words[i], words[i - 1]
    if before.text in _STOPS or before.pos == "SPACE":
        return False
    if word.pos == "SCONJ":
        return word.lower != "that"
    if word.tag == "VBG" and word.pos == "VERB" and before.pos == "ADP":
        return True
    if word.lower in {"that", "which", "who"} and word.pos == "PRON" and _is_relative(words, i):
        return True
    if word.pos == "PRON" and before.pos in {"NOUN", "PROPN"} and _reduced_relative(words, i):
        return True
    if word.pos == "PART" and word.lower == "to" and before.pos in {"NOUN", "PROPN"}:
        return True
    if before.text == "," and word.pos != "CCONJ":
        return _after_comma(words, i, current)
    if word.pos == "CCONJ" and _verb_opens(words, i + 1):
        return False
    return None


def _is_relative(words: Sequence[Word], i: int) -> bool:
    before = words[i - 1]
    if before.text == "," and i >= 2:
        before = words[i - 2]
    nominal = before.pos in {"NOUN", "PROPN", "NUM"} or before.lower in cc.INDEFINITE
    return nominal and i + 1 < len(words)


def _reduced_relative(words: Sequence[Word], i: int) -> bool:
    nominative = words[i].lower in {"i", "you", "we", "they", "he", "she", "it"}
    after = words[i + 1] if i + 1 < len(words) else None
    return nominative and after is not None and after.pos in {"VERB", "AUX", "ADV"}


def _after_comma(words: Sequence[Word], i: int, current: tuple[int, bool]) -> bool | None:
    """A main clause behind "If X," or another imperative in a list of commands."""
    if _verb_opens(words, i):
        return False
    start, subordinate = current
    if subordinate and start == _sentence_start(words, i):
        return False
    subject = words[i].lower in {"i", "you", "we", "they", "he", "she", "it", "there", "this"}
    return False if subject else None


def _sentence_start(words: Sequence[Word], i: int) -> int:
    j = i - 1
    while j >= 0 and words[j].text not in _STOPS:
        j -= 1
    j += 1
    while j < i and words[j].pos in {"INTJ", "CCONJ", "PUNCT", "ADV"}:
        j += 1
    return j


def _verb_opens(words: Sequence[Word], i: int) -> bool:
    """Adverbs, then a verb or subject + verb: a new clause and not one more noun."""
    while i < len(words) and (words[i].pos in {"ADV", "INTJ"} or words[i].lower in {"not", "to"}):
        i += 1
    if i >= len(words):
        return False
    if words[i].pos in {"VERB", "AUX"}:
        return True
    subject = words[i].pos == "PRON" and words[i].lower in cc.PERSONAL | {"this", "that", "there"}
    return subject and i + 1 < len(words) and words[i + 1].pos in {"VERB", "AUX"}


def _main_verb(words: Sequence[Word], start: int, end: int) -> int | None:
    """The last verb of the first verb chain ("want to add" -> add), else a bare auxiliary."""
    verb: int | None = None
    auxiliary: int | None = None
    for i in range(start, end):
        word = words[i]
        if word.pos == "AUX" and auxiliary is None:
            auxiliary = i
        elif word.pos == "VERB":
            linked = verb is not None and _chained(words, verb, i)
            if verb is None or linked:
                verb = i
            else:
                break
    return verb if verb is not None else auxiliary


def _chained(words: Sequence[Word], verb: int, i: int) -> bool:
    """ "want to add", "let's work", "start using": one predicate."""
    between = words[verb + 1 : i]
    if words[verb].lower in {"let", "help"} and len(between) <= 3:
        return True
    return words[verb].lemma in _CHAINING and all(
        w.lower in {"to", "'s", "us", "me", "not"} or w.pos == "ADV" for w in between
    )


_CHAINING: Final = words("verbs", "chaining")


def _mood(words: Sequence[Word], start: int, end: int, verb: int | None) -> Mood:
    i = start
    while i < end and (words[i].pos in {"CCONJ", "INTJ", "PUNCT", "SPACE"} or _fronted(words, i)):
        i += 1
    if i >= end:
        return "fragment"
    first = words[i]
    asks = words[end - 1].text == "?" or any(w.text == "?" for w in words[end : end + 1])
    negated = i + 1 < end and words[i + 1].lower in cc.NEGATIONS
    if first.lower == "do" and negated:
        return "imperative"
    if first.lower in cc.WH or (first.pos == "AUX" and i + 1 < end):
        return "question"
    if first.pos == "ADP" and i + 1 < end and words[i + 1].lower in cc.WH:
        return "question"
    if verb is None:
        return "question" if asks else "fragment"
    if first.pos == "VERB" and first.tag in {"VB", ""}:
        return "imperative"
    if first.lower == "do" or (first.lower == "please" and i + 1 < end):
        return "imperative"
    return "question" if asks else "statement"


def _fronted(words: Sequence[Word], i: int) -> bool:
    return words[i].pos == "ADV" and words[i].lower not in cc.WH
