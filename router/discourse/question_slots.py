"""Which part of a question a fragment asks about anew, and the question with the fragment there.

"And the Trustee?" after "How much notice does the Servicer have to give?" stands in for the
Servicer and not for the notice: both are somebody. "And the spark plugs?" after "What about the
brake fluid?" takes the place that the brake fluid took.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.router.discourse.inquiry import difference
from kds.router.discourse.mention import Mention, acts, agency, is_time
from kds.router.discourse.parallels import Fragment, Slot, entity_slots, likeness, substitute
from kds.router.discourse.question import Question, Span
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import agreeing
from kds.router.language.words import Word

SOMEBODY: Final = 1.5
"""Both are somebody, or one is and the other is not."""
TIMES: Final = 2.0
"""Both are a time; or only one is."""
SAME_PLACE: Final = 1.2
"""The place that the fragment before took."""
ENOUGH: Final = 0.8
"""Likeness that a phrase needs: a fragment behind a question nearly always replaces something."""
NARROWED: Final = 0.5
"""More for a fragment that says itself of what: "the opening hours of the branch"."""
TOPIC: Final = 0.3
"""What the question is about is varied rather than what is said of it."""
GOVERNED: Final = 1.0
"""Taken off where the fragment has a preposition and the slot another, or none."""
ASKED_FOR: Final = 0.6
"""Taken off for the noun of "how many books": that is what is asked, not what it is asked of."""

INDEFINITE: Final = 0.5
"""A thing of a kind for another of a kind: "the fee for a card" + a token."""


_MEASURING: Final = words("function_words", "limiting")
_ANY: Final = frozenset({"a", "an"})


def asked_slot(
    question: Question, fragment: Fragment, before: Question | None, *, oblique: bool = False
) -> Slot | None:
    """The part of the question that ``fragment`` replaces; None when nothing is like it.

    ``before`` is the question before it: where the two differ is what is being varied. With
    ``oblique`` ("the same for X") what stands behind a preposition comes first.
    """
    narrowed = " of " in fragment.text
    varied = difference(before, question) if before is not None and not fragment.prep else None
    pool = [
        replace(slot, likeness=slot.likeness + SAME_PLACE * _overlap(slot, question, varied.second))
        if varied is not None
        else slot
        for slot in _slots(question, fragment)
    ]
    if oblique:
        asked = question.words[question.wh[1] - 1].end if question.wh[1] else 0
        pool = [
            replace(s, likeness=s.likeness + 0.5 * (s.outer < s.start))
            for s in pool
            if s.outer == s.start or s.start >= asked  # not in "how many days of leave"
        ]
    best = max(pool, key=lambda slot: (slot.likeness, slot.start), default=None)
    return best if best is not None and best.likeness >= ENOUGH + NARROWED * narrowed else None


def _overlap(slot: Slot, question: Question, span: Span) -> bool:
    words = question.words
    return slot.start < words[span[1] - 1].end and words[span[0]].start < slot.end


def _slots(question: Question, fragment: Fragment) -> Iterator[Slot]:
    words, other = question.words, fragment.mention
    first, stop = question.fronted[0], question.end
    condition = question.condition
    for mention in question.mentions:
        inside = first <= mention.start and mention.end <= stop
        if mention.parts or not inside or mention.determiner in cc.WH or mention.role == "poss":
            continue
        if other is None or (mention.prep == "between" and other.number == "sg"):
            continue
        asked = question.wh[0] <= mention.start < question.wh[1]
        start = _core(words, mention) if asked else mention.start
        outer = words[start].start
        if mention.prep and mention.start and words[mention.start - 1].pos == "ADP":
            outer = words[mention.start - 1].start
        score = (
            likeness(mention, fragment)
            + TOPIC * mention.topic
            - 2 * mention.grouped
            + _kinship(mention, other)
            - ASKED_FOR * asked
            + INDEFINITE * (mention.determiner in _ANY and other.determiner in _ANY)
        )
        when = _is_when(mention) and _is_when(other)
        on_a_time = when and {fragment.prep, mention.prep} <= _AT_A_TIME
        if condition[0] <= mention.start < condition[1] and mention.head != other.head:
            score -= GOVERNED  # "is theft covered when the home is empty" + fire
        if fragment.prep and fragment.prep != mention.prep and not on_a_time:
            score -= GOVERNED + SOMEBODY * (not acts(other)) + (fragment.prep != "for")
        end = words[_end(words, mention, other) - 1].end
        yield Slot(words[start].start, end, outer, score)
    yield from (s for s in entity_slots(question.analysis, fragment))


_AT_A_TIME: Final = frozenset({"on", "at", "in", "during", ""})


def _is_when(mention: Mention) -> bool:
    """A day or a time of it: "weekdays", "public holidays"."""
    return is_time(mention) or mention.head.endswith("day") or mention.label in {"DAY", "MONTH"}


def _core(words: tuple[Word, ...], mention: Mention) -> int:
    start = mention.start
    while start < mention.end - 1 and words[start].pos in {"DET", "ADJ", "NUM", "ADV"}:
        start += 1
    return start


def _kinship(mention: Mention, other: Mention) -> float:
    """Somebody for somebody, a time for a time."""
    if mention.label and mention.label == other.label:
        return 0.0
    one, two = agency(mention), agency(other)
    dated = mention.prep in _AT_A_TIME - {""} and _is_when(mention)
    times = (is_time(mention) or dated, is_time(other) or (dated and _is_when(other)))
    both = one > 0 and two > 0
    score = SOMEBODY * min(one, two) if both else -_doubt(max(one, two))
    return score + (TIMES if all(times) else -TIMES if any(times) else 0.0)


def _doubt(surest: float) -> float:
    """Taken off when only one is somebody: little when that one may be a tool."""
    return SOMEBODY if surest == 1.0 else SOMEBODY / 4 if surest else 0.0


def _end(words: tuple[Word, ...], mention: Mention, other: Mention) -> int:
    """ "flights over six hours" + shorter flights: the measure goes with what it measured.

    So does what says more of a bare noun: "damage from burst pipes" + theft.
    """
    end = mention.end
    bare = not (mention.determiner or other.determiner) and mention.number == "sg"
    if bare and mention.head != other.head and mention.role in {"obj", "pobj"}:
        return _end_of_more(words, end)
    if mention.head != other.head or not other.modifiers or end >= len(words):
        return end
    if words[end].lower not in _MEASURING:
        return end
    stop = end + 1
    while stop < len(words) and words[stop].pos in {"NUM", "NOUN", "DET", "ADJ"}:
        stop += 1
    measured = any(w.pos == "NUM" for w in words[end:stop])
    return stop if measured else end


def _end_of_more(words: tuple[Word, ...], end: int) -> int:
    """Behind "of water", "from burst pipes"; the place itself when nothing like it follows."""
    if end + 1 >= len(words) or words[end].lower not in {"of", "from", "by", "through"}:
        return end
    stop = end + 1
    while stop < len(words) and words[stop].pos in {"NOUN", "PROPN", "DET", "ADJ", "NUM"}:
        stop += 1
    return stop if stop > end + 1 and words[stop - 1].pos in {"NOUN", "PROPN"} else end


def asked_again(question: Question, slot: Slot, fragment: Fragment) -> str:
    """The question with the slot filled by the fragment, without what stood around it."""
    governed = slot.outer < slot.start
    given = fragment if governed else Fragment(fragment.text, fragment.mention, "", fragment.label)
    words = question.words
    slot = _with_article(words, slot, fragment)
    text = substitute(question.analysis, slot, given)
    first = 0 if question.indirect else question.first
    tail = len(question.analysis.text) - words[question.end - 1].end
    cut = text[words[first].start : len(text) - tail] if tail else text[words[first].start :]
    mark = question.analysis.text[words[question.end - 1].end :][:1]
    aux = question.aux
    if aux is not None and slot.start == words[question.subject[0]].start and not governed:
        cut = _agree(cut, words[aux], words[first].start, fragment)
    return cut + (mark if mark in {"?", "."} else "")


def _with_article(words: tuple[Word, ...], slot: Slot, fragment: Fragment) -> Slot:
    """An article before the slot goes when the fragment brings its own."""
    before = next((w for w in words if w.end == slot.start - 1), None)
    brings = fragment.text.split(" ", 1)[0].lower() in cc.ARTICLES | cc.POSSESSIVES
    if before is None or not brings or before.lower not in cc.ARTICLES | cc.POSSESSIVES:
        return slot
    outer = min(slot.outer, before.start)
    return replace(slot, start=before.start, outer=outer)


def _agree(text: str, aux: Word, offset: int, fragment: Fragment) -> str:
    mention = fragment.mention
    if mention is None or aux.start < offset:
        return text
    start, end = aux.start - offset, aux.end - offset
    form = agreeing(text[start:end], plural=mention.number == "pl")
    return text[:start] + form + text[end:]
