"""Which part of a question a fragment asks about anew, and the question with the fragment there.

"And the Trustee?" after "How much notice does the Servicer have to give?" stands in for the
Servicer and not for the notice: both are somebody. "And the spark plugs?" after "What about the
brake fluid?" takes the place that the brake fluid took.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kds.router.discourse.inquiry import difference
from kds.router.discourse.mention import Mention, acts, agency, is_time
from kds.router.discourse.parallels import Fragment, Slot, entity_slots, slot_at, substitute
from kds.router.discourse.question import Question
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
OBLIQUE: Final = 0.5
"""Behind a preposition, where the fragment is ("the same for X")."""

_MEASURING: Final = words("function_words", "limiting")
_SAYING_MORE: Final = frozenset({"of", "from", "by", "through"})
_NOMINAL: Final = frozenset({"NUM", "NOUN", "PROPN", "DET", "ADJ"})
_ANY: Final = frozenset({"a", "an"})
_AT_A_TIME: Final = frozenset({"on", "at", "in", "during"})


def asked_slot(
    question: Question, fragment: Fragment, before: Question | None, *, oblique: bool = False
) -> Slot | None:
    """The part of the question that ``fragment`` replaces; None when nothing is like it.

    ``before`` is the question before it: where the two differ is what is being varied. With
    ``oblique`` ("the same for X") what stands behind a preposition comes first.
    """
    words, pool = question.words, [*_slots(question, fragment)]
    varied = difference(before, question) if before is not None and not fragment.prep else None
    if varied is not None:
        first, stop = words[varied.second[0]].start, words[varied.second[1] - 1].end
        pool = [
            replace(s, likeness=s.likeness + SAME_PLACE * (s.start < stop and first < s.end))
            for s in pool
        ]
    if oblique:
        asked = words[question.wh[1] - 1].end if question.wh[1] else 0
        pool = [
            replace(s, likeness=s.likeness + OBLIQUE * (s.outer < s.start))
            for s in pool
            if s.outer == s.start or s.start >= asked  # not in "how many days of leave"
        ]
    best = max(pool, key=lambda slot: (slot.likeness, slot.start), default=None)
    least = ENOUGH + NARROWED * (" of " in fragment.text)
    return best if best is not None and best.likeness >= least else None


def _slots(question: Question, fragment: Fragment) -> Iterator[Slot]:
    words, other = question.words, fragment.mention
    yield from entity_slots(question.analysis, fragment)
    if other is None:
        return
    for mention in question.mentions:
        if mention.parts or mention.determiner in cc.WH or mention.role == "poss":
            continue
        if mention.prep == "between" and other.number == "sg":
            continue
        slot = slot_at(question.analysis, mention, fragment)
        asked = question.wh[0] <= mention.start < question.wh[1]
        if asked:
            inside = words[mention.start : mention.end]
            core = next((w for w in inside if w.pos in {"NOUN", "PROPN"}), inside[-1])
            outer = slot.outer if slot.outer < slot.start else core.start
            slot = replace(slot, start=core.start, outer=outer)
        score = slot.likeness + TOPIC * mention.topic - 2 * mention.grouped - ASKED_FOR * asked
        score += INDEFINITE * (mention.determiner in _ANY and other.determiner in _ANY)
        timed = _is_when(mention) and _is_when(other)
        timed = timed and {fragment.prep, mention.prep} <= _AT_A_TIME | {""}
        if fragment.prep and fragment.prep != mention.prep and not timed:
            score -= GOVERNED + SOMEBODY * (not acts(other)) + (fragment.prep != "for")
        end = words[_end(words, mention, other) - 1].end
        yield replace(slot, end=end, likeness=score + _kinship(mention, other))


def _is_when(mention: Mention) -> bool:
    """A day or a time of it: "weekdays", "public holidays"."""
    return is_time(mention) or mention.head.endswith("day") or mention.label in {"DAY", "MONTH"}


def _kinship(mention: Mention, other: Mention) -> float:
    """Somebody for somebody, a time for a time."""
    if mention.label and mention.label == other.label:
        return 0.0
    least, most = sorted((agency(mention), agency(other)))
    # little is taken off when only one is somebody, and may be a tool
    score = SOMEBODY * (least or -most * (1.0 if most == 1.0 else 0.5))
    dated = mention.prep in _AT_A_TIME and _is_when(mention)
    times = (is_time(mention) or dated, is_time(other) or (dated and _is_when(other)))
    return score + (TIMES if all(times) else -TIMES if any(times) else 0.0)


def _end(words: Sequence[Word], mention: Mention, other: Mention) -> int:
    """ "flights over six hours" + shorter flights: the measure goes with what it measured.

    So does what says more of a bare noun: "damage from burst pipes" + theft.
    """
    end = stop = mention.end
    follows = words[end].lower if end < len(words) else ""
    same, bare = mention.head == other.head, not (mention.determiner or other.determiner)
    more = not same and bare and mention.number == "sg" and follows in _SAYING_MORE
    if more or (same and other.modifiers and follows in _MEASURING):
        stop += 1
        while stop < len(words) and words[stop].pos in _NOMINAL:
            stop += 1
    said = words[end:stop]
    return (
        stop if any(word.pos in ({"NOUN", "PROPN"} if more else {"NUM"}) for word in said) else end
    )


def asked_again(question: Question, slot: Slot, fragment: Fragment) -> str:
    """The question with the slot filled by the fragment, without what stood around it."""
    words, text, mention = question.words, question.analysis.text, fragment.mention
    governed = slot.outer < slot.start
    before = next((w for w in words if w.end == slot.start - 1), None)
    articles = cc.ARTICLES | cc.POSSESSIVES
    brings = fragment.text.partition(" ")[0].lower() in articles
    if before is not None and brings and before.lower in articles:
        slot = replace(slot, start=before.start, outer=min(slot.outer, before.start))
    given = fragment if governed else replace(fragment, prep="")
    made = substitute(question.analysis, slot, given)
    start, end = (
        words[0 if question.indirect else question.first].start,
        words[question.end - 1].end,
    )
    cut = made[start : len(made) - len(text) + end]
    aux = words[question.aux] if question.aux is not None else None
    varies = slot.start == words[question.subject[0]].start and not governed
    if aux is not None and varies and mention is not None:
        form = agreeing(aux.text, plural=mention.number == "pl")
        cut = cut[: aux.start - start] + form + cut[aux.end - start :]
    mark = text[end : end + 1]
    return cut + (mark if mark in {"?", "."} else "")
