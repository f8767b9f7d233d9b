"""Base noun phrases over tagged words, with the role each plays in its clause.

The pattern is the usual base-NP shape (Ramshaw and Marcus 1995): determiners, numerals and
modifiers up to the head noun. Names behind a common noun belong to it ("the environment
variable LOG_LEVEL"). Coordinated phrases share a group id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from kds.router.english import English, words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, singular
from kds.router.language.words import Clause, Number, Phrase, Role, Word

_INSIDE: Final = frozenset({"DET", "NUM", "ADJ", "NOUN", "PROPN"})
_HEADS: Final = frozenset({"NOUN", "PROPN"})
_PREDETERMINERS: Final = frozenset("all both half such".split())
_NEVER_INSIDE: Final = (cc.WH - {"whose", "which", "what"}) | {
    "called",
    "named",
    "titled",
    "labelled",
}
_NAME_KINDS: Final = frozenset("path url code flag quote issue email".split())


def find_phrases(
    words: Sequence[Word], clauses: Sequence[Clause], english: English
) -> tuple[Phrase, ...]:
    """Every base noun phrase that has a noun, in text order."""
    phrases = [_phrase(words, clauses, span, english) for span in _spans(words)]
    phrases = _recipients(words, _possessors(words, phrases))
    return tuple(_coordinate(words, phrases))


def _spans(words: Sequence[Word]) -> Iterator[tuple[int, int, int]]:
    i = 0
    while i < len(words):
        if words[i].pos not in _INSIDE or words[i].lower in _NEVER_INSIDE:
            i += 1
            continue
        end = _span_end(words, i)
        heads = [j for j in range(i, end) if words[j].pos in _HEADS]
        if heads:
            yield i, _head(words, heads), end
        i = max(end, i + 1)


def _span_end(words: Sequence[Word], start: int) -> int:
    seen_noun = False
    i = start
    while i < len(words):
        word = words[i]
        if word.pos not in _INSIDE:
            if not (word.pos == "ADV" and not seen_noun and _adverb_inside(words, i, start)):
                break
        elif seen_noun and _starts_new(words, i, start):
            break
        seen_noun = seen_noun or word.pos in _HEADS
        i += 1
        if i < len(words) and words[i].lower in {"'s", "'"} and words[i].pos == "PART":
            break
    return i


def _adverb_inside(words: Sequence[Word], i: int, start: int) -> bool:
    return i > start and i + 1 < len(words) and words[i + 1].pos == "ADJ"


def _starts_new(words: Sequence[Word], i: int, start: int) -> bool:
    word, before = words[i], words[i - 1]
    if word.pos == "DET":
        return True
    if word.pos == "ADJ" and before.pos in _HEADS:
        follows = i + 1 < len(words) and words[i + 1].pos in _HEADS
        return not follows or word.tag == "VBN"
    if word.kind in _NAME_KINDS and before.kind in _NAME_KINDS:
        return True
    return before.pos == "NUM" and before.kind == "number" and word.pos == "NUM"


def _head(words: Sequence[Word], heads: list[int]) -> int:
    """The last noun; a name behind a common noun is an apposition to it."""
    last = heads[-1]
    if len(heads) > 1 and words[last].kind in _NAME_KINDS and words[heads[-2]].pos == "NOUN":
        return heads[-2]
    return last


def _phrase(
    words: Sequence[Word],
    clauses: Sequence[Clause],
    span: tuple[int, int, int],
    english: English,
) -> Phrase:
    start, head, end = span
    core = start
    determiner = ""
    while core < head and words[core].pos == "DET":
        determiner = (
            determiner if determiner in _PREDETERMINERS and determiner else words[core].lower
        )
        core += 1
    clause = next((k for k, c in enumerate(clauses) if c.start <= start < c.end), 0)
    role, prep, verb = _role(words, clauses[clause], start, end)
    number: Number = "pl" if _plural(words[head], determiner, english, bare=head == core) else "sg"
    return Phrase(start, end, head, role, prep, verb, clause, determiner, core, number, -1)


def _plural(word: Word, determiner: str, english: English, *, bare: bool) -> bool:
    if determiner in {"a", "an", "each", "every", "another", "this", "that", "either", "neither"}:
        return False
    if determiner in {"these", "those", "many", "several", "few"}:
        return True
    if word.kind:
        return False
    if word.pos == "PROPN" and determiner == "" and not word.text.islower() and bare:
        return False
    return is_plural(word.text, english)


def _role(
    words: Sequence[Word], clause: Clause, start: int, end: int
) -> tuple[Role, str, int | None]:
    verb = clause.verb
    before = _before(words, start, clause.start)
    if (
        before is not None
        and words[before].text == ","
        and _governor(words, start, clause) is not None
    ):
        return "none", "", _governor(words, start, clause)
    if before is not None and words[before].pos == "ADP":
        prep = words[before].lower
        if prep == "to" and before and words[before - 1].lower == "next":
            prep = "next to"
        if prep == "of" and words[before - 1].lower == "instead" if before else False:
            return "pobj", "instead of", verb
        return ("of" if prep == "of" else "pobj"), prep, _governor(words, before, clause)
    governor = _governor(words, start, clause)
    if governor is not None:
        copula = words[governor].lemma == "be"
        if copula and clause.mood == "question" and not _noun_between(words, governor, start):
            return "subj", "", governor
        if words[governor].pos == "AUX" and not copula:
            return "subj", "", governor
        return ("none" if copula else "obj"), "", governor
    follows = verb is not None and verb >= end
    return ("subj" if follows else "none"), "", verb


def _before(words: Sequence[Word], start: int, floor: int) -> int | None:
    j = start - 1
    while j >= floor and (words[j].pos == "ADV" and words[j].lower not in {"as"}):
        j -= 1
    return j if j >= floor else None


def _governor(words: Sequence[Word], i: int, clause: Clause) -> int | None:
    for j in range(i - 1, clause.start - 1, -1):
        if words[j].pos in {"VERB", "AUX"}:
            return j
    return None


def _noun_between(words: Sequence[Word], a: int, b: int) -> bool:
    return any(words[j].pos in _HEADS | {"PRON"} for j in range(a + 1, b))


def _possessors(words: Sequence[Word], phrases: list[Phrase]) -> list[Phrase]:
    """ "last month's orders": the possessor is a phrase of its own, and starts the next one."""
    out: list[Phrase] = []
    for phrase in phrases:
        mark = words[phrase.end] if phrase.end < len(words) else None
        owns = mark is not None and mark.lower in {"'s", "'"} and mark.pos == "PART"
        if out and out[-1].possessor and out[-1].end + 1 == phrase.start:
            owner = out[-1]
            phrase = replace(
                phrase,
                start=owner.start,
                core=owner.core,
                determiner=owner.determiner,
                role=owner.role,
                prep=owner.prep,
                verb=owner.verb,
            )
            out[-1] = replace(owner, role="poss")
        out.append(replace(phrase, possessor=True) if owns else phrase)
    return out


def _recipients(words: Sequence[Word], phrases: list[Phrase]) -> list[Phrase]:
    """ "give the player a double jump": the first of two adjacent objects is the recipient."""
    out = list(phrases)
    for k, (a, b) in enumerate(pairwise(phrases)):
        adjacent = a.end == b.start and a.role == b.role == "obj" and a.verb == b.verb
        gives = a.verb is not None and words[a.verb].lemma in _GIVING
        if adjacent and gives and not _is_time(words, b):
            out[k] = replace(a, role="pobj", prep="to")
    return out


_GIVING: Final = words("verbs", "giving")


def _is_time(words: Sequence[Word], phrase: Phrase) -> bool:
    return singular(words[phrase.head].lower) in cc.TIME_NOUNS


def _coordinate(words: Sequence[Word], phrases: list[Phrase]) -> Iterator[Phrase]:
    """Give phrases joined by and/or/commas the same group, and the first one's role."""
    group = -1
    previous: Phrase | None = None
    pending: list[Phrase] = []
    for phrase in phrases:
        joined = previous is not None and _joined(words, previous, phrase)
        if joined and pending:
            lead = pending[0]
            same_case = phrase.prep in ("", lead.prep)
            phrase = (
                replace(phrase, role=lead.role, prep=lead.prep, verb=lead.verb)
                if same_case
                else phrase
            )
            pending.append(phrase)
        else:
            group += len(pending) > 1
            yield from _close_group(pending, group)
            pending = [phrase]
        previous = phrase
    group += len(pending) > 1
    yield from _close_group(pending, group)


def _close_group(pending: list[Phrase], group: int) -> Iterator[Phrase]:
    for phrase in pending:
        yield replace(phrase, group=group) if len(pending) > 1 else phrase


def _joined(words: Sequence[Word], a: Phrase, b: Phrase) -> bool:
    if a.possessor or a.clause != b.clause:
        return False
    between = words[a.end : b.start]
    if between and between[-1].pos == "ADP" and a.prep == between[-1].lower:
        between = between[:-1]
    if not between or len(between) > 2:
        return False
    connects = all(w.pos == "CCONJ" or w.text == "," for w in between)
    return connects and (
        any(w.lower in {"and", "or", "&", "nor", "vs"} for w in between) or _list_goes_on(words, b)
    )


def _list_goes_on(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "a, b and c": the comma joins when a coordinator comes before the list ends."""
    for word in words[phrase.end :]:
        if word.lower in {"and", "or"}:
            return True
        if word.pos not in _INSIDE and word.text != ",":
            return False
    return False
