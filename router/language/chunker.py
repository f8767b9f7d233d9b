"""Clauses of a tagged text, and its base noun phrases with the role each plays in its clause.

Names behind a common noun belong to it ("the environment variable LOG_LEVEL"). Coordinated phrases
share a group id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, cast

from kds.router.english import English
from kds.router.english import words as listed
from kds.router.language import closed_class as cc
from kds.router.language.grammar import grammar, verdict
from kds.router.language.lexicon import is_plural, singular
from kds.router.language.words import Clause, Mood, Number, Phrase, Role, Word

_INSIDE: Final = frozenset({"DET", "NUM", "ADJ", "NOUN", "PROPN"})
_HEADS: Final = frozenset({"NOUN", "PROPN"})
_NAME_KINDS: Final = frozenset("path url code flag quote issue email".split())
_GIVING: Final = listed("verbs", "giving")
_OF_ONE: Final = frozenset("a an each every another this that either neither".split())
_OF_SEVERAL: Final = frozenset("these those many several few".split())
_CHAINING: Final = listed("verbs", "chaining")
_LINKS: Final = frozenset({"to", "me", "not"})


def find_clauses(words: Sequence[Word]) -> tuple[Clause, ...]:
    """Cut the words into clauses, left to right, each with its main verb and mood."""
    marks = [{word.lower, word.pos, word.tag} for word in words]
    starts: list[tuple[int, bool]] = []
    for i in range(len(words)):
        found = verdict(grammar().clause, marks, i, starts[-1][0] if starts else -1)
        if found or i == 0:
            starts.append((i, found == "SUB"))
    clauses = []
    for (start, subordinate), (end, _) in pairwise([*starts, (len(words), False)]):
        first = start
        while first < end and _is_fronted(words[first]):
            first += 1
        mood = cast(Mood, verdict(grammar().mood, marks[start:end], first - start))
        clauses.append(Clause(start, end, _main_verb(words, start, end), mood, subordinate))
    return tuple(clauses)


def _is_fronted(word: Word) -> bool:
    adverb = word.pos == "ADV" and word.lower not in cc.WH
    return adverb or word.pos in {"CCONJ", "INTJ", "PUNCT"}


def _main_verb(words: Sequence[Word], start: int, end: int) -> int | None:
    """The last verb of the first verb chain ("want to add" -> add), else a bare auxiliary."""
    verbs = [i for i in range(start, end) if words[i].pos == "VERB"]
    if not verbs:
        return next((i for i in range(start, end) if words[i].pos == "AUX"), None)
    verb = verbs[0]
    for i in verbs[1:]:
        if not _is_chained(words[verb], words[verb + 1 : i]):
            break
        verb = i
    return verb


def _is_chained(verb: Word, between: Sequence[Word]) -> bool:
    """ "want to add", "let's work", "start using": one predicate."""
    if verb.lower in {"let", "help"} and len(between) <= 3:
        return True
    linked = all(word.lower in _LINKS or word.pos == "ADV" for word in between)
    return linked and verb.lemma in _CHAINING


def find_phrases(
    words: Sequence[Word], clauses: Sequence[Clause], english: English
) -> tuple[Phrase, ...]:
    """Every base noun phrase that has a noun, in text order."""
    phrases = [_phrase(words, clauses, span, english) for span in _spans(words)]
    phrases = _possessors(words, phrases)
    _mark_recipients(words, phrases)
    _coordinate(words, phrases)
    return tuple(phrases)


def _spans(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    marks = [
        {word.lower, word.pos, word.tag, "NAME" if word.kind in _NAME_KINDS else word.kind.upper()}
        for word in words
    ]
    start = 0
    for i in range(len(words) + 1):
        found = verdict(grammar().phrase, marks, i) if i < len(words) else ""
        if found != "IN":
            if i and "HEADED" in marks[i - 1]:
                yield start, i
            start = i
        if found:
            headed = words[i].pos in _HEADS or (found == "IN" and "HEADED" in marks[i - 1])
            marks[i] |= {"IN", "HEADED"} if headed else {"IN"}


def _phrase(
    words: Sequence[Word], clauses: Sequence[Clause], span: tuple[int, int], english: English
) -> Phrase:
    start, end = span
    heads = [j for j in range(start, end) if words[j].pos in _HEADS]
    head = heads[-1]
    if len(heads) > 1 and words[head].kind in _NAME_KINDS and words[heads[-2]].pos == "NOUN":
        head = heads[-2]
    core, determiner = start, ""
    while core < head and words[core].pos == "DET":
        determiner = (
            determiner if determiner in {"all", "both", "half", "such"} else words[core].lower
        )
        core += 1
    clause = next((k for k, c in enumerate(clauses) if c.start <= start < c.end), 0)
    role, prep, verb = _role(words, clauses[clause], start, end)
    number: Number = "pl" if _is_several(words[head], determiner, english, head == core) else "sg"
    return Phrase(start, end, head, role, prep, verb, clause, determiner, core, number, -1)


def _is_several(word: Word, determiner: str, english: English, bare: bool) -> bool:
    if determiner in _OF_ONE or determiner in _OF_SEVERAL:
        return determiner in _OF_SEVERAL
    named = word.pos == "PROPN" and not determiner and bare and not word.text.islower()
    return not word.kind and not named and is_plural(word.text, english)


def _role(
    words: Sequence[Word], clause: Clause, start: int, end: int
) -> tuple[Role, str, int | None]:
    before = start - 1
    while before >= clause.start and words[before].pos == "ADV" and words[before].lower != "as":
        before -= 1
    governor = next(
        (j for j in range(start - 1, clause.start - 1, -1) if words[j].pos in {"VERB", "AUX"}), None
    )
    if before >= clause.start and words[before].pos == "ADP":
        prep, outer = words[before].lower, words[before - 1].lower if before else ""
        if (outer, prep) == ("instead", "of"):
            return "pobj", "instead of", clause.verb
        prep = "next to" if (outer, prep) == ("next", "to") else prep
        return ("of" if prep == "of" else "pobj"), prep, governor
    if governor is None:
        follows = clause.verb is not None and clause.verb >= end
        return ("subj" if follows else "none"), "", clause.verb
    if before >= clause.start and words[before].text == ",":
        return "none", "", governor
    if words[governor].lemma != "be":
        return ("subj" if words[governor].pos == "AUX" else "obj"), "", governor
    first = next(j for j in range(clause.start, start) if words[j].pos in {"VERB", "AUX"})
    between = any(words[j].pos in _HEADS | {"PRON", "ADJ"} for j in range(first + 1, start))
    asked = clause.mood == "question" and not between
    exists = first > clause.start and words[first - 1].lower == "there" and not between
    return ("subj" if asked or exists else "none"), "", governor


def _possessors(words: Sequence[Word], phrases: list[Phrase]) -> list[Phrase]:
    """ "last month's orders": the possessor is a phrase of its own, and starts the next one."""
    out: list[Phrase] = []
    for phrase in phrases:
        mark = words[phrase.end] if phrase.end < len(words) else None
        owns = mark is not None and mark.lower in {"'s", "'"} and mark.pos == "PART"
        if out and out[-1].possessor and out[-1].end + 1 == phrase.start:
            out[-1], owner = replace(out[-1], role="poss"), out[-1]
            phrase = replace(owner, end=phrase.end, head=phrase.head, number=phrase.number)
        out.append(replace(phrase, possessor=owns))
    return out


def _mark_recipients(words: Sequence[Word], phrases: list[Phrase]) -> None:
    """ "give the player a double jump": the first of two adjacent objects is the recipient."""
    for k, (a, b) in enumerate(pairwise(phrases)):
        adjacent = a.end == b.start and a.role == b.role == "obj" and a.verb == b.verb
        gives = a.verb is not None and words[a.verb].lemma in _GIVING
        if adjacent and gives and singular(words[b.head].lower) not in cc.TIME_NOUNS:
            phrases[k] = replace(a, role="pobj", prep="to")


def _coordinate(words: Sequence[Word], phrases: list[Phrase]) -> None:
    """Give phrases joined by and/or/commas the same group, and the first one's role."""
    group = lead = -1
    for k in range(1, len(phrases)):
        before, phrase = phrases[k - 1], phrases[k]
        host = phrases[k - 2].determiner if k > 1 and phrases[k - 2].end == before.start - 1 else ""
        anew = before.prep and not before.determiner and host in {"a", "an"} & {phrase.determiner}
        if anew or not _joined(words, before, phrase):
            continue  # "a knob for feedback and a knob for mix"
        if before.group < 0:
            group, lead = group + 1, k - 1
            phrases[lead] = replace(before, group=group)
        phrases[k] = replace(phrase, group=group)
        if phrase.prep in ("", (first := phrases[lead]).prep):
            phrases[k] = replace(phrases[k], role=first.role, prep=first.prep, verb=first.verb)


def _joined(words: Sequence[Word], a: Phrase, b: Phrase) -> bool:
    between = words[a.end : b.start]
    if between and between[-1].pos == "ADP" and a.prep == between[-1].lower:
        between = between[:-1]
    connects = 1 <= len(between) <= 2 and all(w.pos == "CCONJ" or w.text == "," for w in between)
    if not connects or a.possessor or a.clause != b.clause:
        return False
    return any(w.lower in {"and", "or", "&", "nor", "vs"} for w in between) or _goes_on(words, b)


def _goes_on(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "a, b and c": the comma joins when a coordinator comes before the list ends."""
    for word in words[phrase.end :]:
        if word.lower in {"and", "or"}:
            return True
        if word.pos not in _INSIDE and word.text != ",":
            return False
    return False
