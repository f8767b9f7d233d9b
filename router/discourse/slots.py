"""Which part of an earlier sentence a fragment stands in for, and the sentence with it there.

"What about Windows?" after "How do I install the CLI on Linux?" replaces "Linux". The part is
found by likeness: same label, head, shape, preposition, capitals, determiner. "And the Trustee?"
after "How much notice does the Servicer have to give?" stands in for the Servicer and not for the
notice: both are somebody. "And the spark plugs?" after "What about the brake fluid?" takes the
place that the brake fluid took.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kds.router.discourse.mentions import Mention, acts, agency, is_time
from kds.router.discourse.questions import Question, difference
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import agreeing
from kds.router.language.words import Analysis, Word

NUMBER: Final = "NUMBER"
"""Label of a fragment that is only a number ("No, 16px")."""

MIN_LIKENESS: Final = 1.5
"""Below this nothing in the sentence is like the fragment; set on the development dialogues."""
ENOUGH: Final = 0.8
"""The same in a question: a fragment behind one nearly always replaces something."""
NARROWED: Final = 0.5
"""More for a fragment that says itself of what: "the opening hours of the branch"."""

SAME_LABEL: Final = 3.0
SAME_HEAD: Final = 3.0
SAME_KIND: Final = 2.5
SAME_PREPOSITION: Final = 2.0
SOMEBODY: Final = 1.5
"""Both are somebody, or one is and the other is not."""
TIMES: Final = 2.0
"""Both are a time; or only one is."""
SAME_PLACE: Final = 1.2
"""The place that the fragment before took."""
TOPIC: Final = 0.3
"""What the question is about is varied rather than what is said of it."""
GOVERNED: Final = 1.0
"""Taken off where the fragment has a preposition and the slot another, or none."""
ASKED_FOR: Final = 0.6
"""Taken off for the noun of "how many books": that is what is asked, not what it is asked of."""
INDEFINITE: Final = 0.5
"""A thing of a kind for another of a kind: "the fee for a card" + a token."""
OBLIQUE: Final = 0.5
"""Behind a preposition."""

_ROLES: Final = {"obj": 0.4, "pobj": 0.3, "subj": 0.3}
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_DETERMINING: Final = cc.ARTICLES | cc.POSSESSIVES
_MEASURING: Final = words("function_words", "limiting")
_ANY: Final = frozenset({"a", "an"})
_AT_A_TIME: Final = frozenset({"on", "at", "in", "during"})


@dataclass(frozen=True, slots=True)
class Fragment:
    """What the user said in place of a whole sentence."""

    text: str
    mention: Mention | None
    prep: str
    label: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A replaceable part of the earlier sentence, in characters.

    ``outer`` is where it starts with its preposition.
    """

    start: int
    end: int
    outer: int
    likeness: float


def best_slot(earlier: Analysis, mentions: Sequence[Mention], fragment: Fragment) -> Slot | None:
    """The part of a command or statement that the fragment replaces; None when nothing is alike."""
    slots = [_slot(earlier, one, fragment) for one in mentions if not one.parts]
    slots = [_with_others(earlier, slot, mentions) for slot in slots]
    slots += _labelled(earlier, fragment)
    slots = [replace(s, likeness=s.likeness + OBLIQUE * (s.outer < s.start)) for s in slots]
    return _best(slots, MIN_LIKENESS)


def _with_others(earlier: Analysis, slot: Slot, mentions: Sequence[Mention]) -> Slot:
    """The slot of a list, where its part is in one: "into German and French" + Spanish."""
    for group in mentions:
        start, end = earlier.words[group.start].start, earlier.words[group.end - 1].end
        if group.parts and start <= slot.start and slot.end <= end:
            outer = slot.outer if slot.start == start else start
            return replace(slot, start=start, end=end, outer=outer)
    return slot


def asked_slot(
    question: Question, fragment: Fragment, before: Question | None, *, oblique: bool = False
) -> Slot | None:
    """The part of a question that the fragment replaces; None when nothing is like it.

    ``before`` is the question before it: where the two differ is what is being varied. With
    ``oblique`` ("the same for X") what stands behind a preposition comes first.
    """
    words, named = question.words, fragment.mention
    slots = [*_labelled(question.analysis, fragment)]
    for mention, other in [(m, named) for m in question.mentions if named is not None]:
        pair = mention.prep == "between" and other.number == "sg"
        if mention.parts or mention.determiner in cc.WH or pair:
            continue
        slot = _slot(question.analysis, mention, fragment)
        asked, governed = mention.start < question.wh[1], slot.outer < slot.start
        if oblique and asked and governed:
            continue  # not in "how many days of leave"
        more = _kinship(mention, other, fragment.prep) + OBLIQUE * (oblique and governed)
        more += TOPIC * mention.topic - ASKED_FOR * asked - 2 * mention.grouped
        end = words[_end(words, mention, other) - 1].end
        slots.append(replace(slot, end=end, likeness=slot.likeness + more))
    varied = difference(before, question) if before is not None and not fragment.prep else None
    if varied is not None:
        first, stop = words[varied.second[0]].start, words[varied.second[1] - 1].end
        slots = [
            replace(s, likeness=s.likeness + SAME_PLACE * (s.start < stop and first < s.end))
            for s in slots
        ]
    return _best(slots, ENOUGH + NARROWED * (" of " in fragment.text))


def _best(slots: Sequence[Slot], least: float) -> Slot | None:
    best = max(slots, key=lambda slot: (slot.likeness, slot.start), default=None)
    return best if best is not None and best.likeness >= least else None


def _slot(earlier: Analysis, mention: Mention, fragment: Fragment) -> Slot:
    """The place of a phrase, and how much it is like the fragment."""
    words = earlier.words
    start, end = words[mention.start].start, words[mention.end - 1].end
    governed = mention.prep and mention.start and words[mention.start - 1].pos == "ADP"
    outer = words[mention.start - 1].start if governed else start
    return Slot(start, end, outer, _likeness(mention, fragment))


def _labelled(earlier: Analysis, fragment: Fragment) -> Iterator[Slot]:
    """Adjectives and single words with the fragment's label: "purple" for "green"."""
    numbers = [(w.i, w.i + 1, NUMBER) for w in earlier.words if w.pos == "NUM"]
    for first, stop, label in [*numbers, *(found[:3] for found in earlier.entities)]:
        if label == fragment.label:
            start = earlier.words[first].start
            yield Slot(start, earlier.words[stop - 1].end, start, SAME_LABEL)


def _likeness(mention: Mention, fragment: Fragment) -> float:
    """How much a phrase of the sentence is like the fragment; 0 when it is not a phrase."""
    other = fragment.mention
    if other is None:
        return 0.0
    shared = any(_share_part(name, other.text) for name in mention.text.split())
    score = SAME_LABEL * bool(mention.label and mention.label == other.label)
    score += SAME_HEAD * (mention.head == other.head)
    score += SAME_KIND * bool(other.kind and (shared or mention.kind == other.kind)) + shared
    score += SAME_PREPOSITION * bool(fragment.prep and mention.prep == fragment.prep)
    score += 0.5 * (mention.determiner == other.determiner) + 0.5 * (mention.number == other.number)
    score += 0.5 * (mention.head_text[:1].isupper() == other.head_text[:1].isupper())
    return score + _ROLES.get(mention.role, 0.0)


def _kinship(mention: Mention, other: Mention, prep: str) -> float:
    """Somebody for somebody, a time for a time, and behind the same preposition."""
    score = INDEFINITE * (mention.determiner in _ANY and other.determiner in _ANY)
    least, most = sorted((agency(mention), agency(other)))
    score += SOMEBODY * (least or -most * most)  # little where it may be a tool
    dated = mention.prep in _AT_A_TIME and _is_when(mention)
    if dated and _is_when(other) and prep in {"", *_AT_A_TIME}:
        return score + TIMES
    times = is_time(mention) or dated, is_time(other)
    score += TIMES if all(times) else -TIMES if any(times) else 0.0
    if prep not in {"", mention.prep}:
        score -= GOVERNED + SOMEBODY * (not acts(other)) + (prep != "for")
    return score


def _is_when(mention: Mention) -> bool:
    """A day or a time of it: "weekdays", "public holidays"."""
    return is_time(mention) or mention.head.endswith("day") or mention.label in {"DAY", "MONTH"}


def _end(words: Sequence[Word], mention: Mention, other: Mention) -> int:
    """ "flights over six hours" + shorter flights: the measure goes with what it measured."""
    end = stop = mention.end
    follows = words[end].lower if end < len(words) else ""
    if mention.head == other.head and other.modifiers and follows in _MEASURING:
        stop += 1
        while stop < len(words) and words[stop].pos in {"NUM", "NOUN"}:
            stop += 1
    return stop


def _share_part(a: str, b: str) -> bool:
    """Whether two identifiers share a part at the start or the end ("getUser", "getOrder")."""
    first, second = _CAMEL.findall(a), _CAMEL.findall(b)
    if len(first) < 2 or len(second) < 2 or a == b:
        return False
    return bool(first[0] == second[0] or first[-1] == second[-1])


def substitute(earlier: Analysis, slot: Slot, fragment: Fragment) -> str:
    """``earlier.text`` with the slot filled by the fragment; identifiers change by analogy.

    "Rename the getUser method to fetchUser" + getOrder ->
    "Rename the getOrder method to fetchOrder".
    """
    text, mention = earlier.text, fragment.mention
    if mention is not None and mention.kind == "code":
        for name in re.findall(r"\w+", text[slot.start : slot.end]):
            if _share_part(name, mention.text):
                pairs = zip(_CAMEL.findall(name), _CAMEL.findall(mention.text), strict=False)
                for old, new in pairs:
                    text = re.sub(rf"(?<![A-Z]){re.escape(old)}(?![a-z])", new, text)
                return text
    start = slot.outer if fragment.prep else slot.start
    new = f"{fragment.prep} {fragment.text}" if fragment.prep else fragment.text
    if start and new.partition(" ")[0].lower() in _DETERMINING:
        new = new[0].lower() + new[1:]
    return text[:start] + new + text[slot.end :]


def asked_again(question: Question, slot: Slot, fragment: Fragment) -> str:
    """The question with the slot filled by the fragment, without what stood around it."""
    words, text, mention = question.words, question.analysis.text, fragment.mention
    governed = slot.outer < slot.start
    before = next((w for w in words if w.end == slot.start - 1), None)
    brings = fragment.text.partition(" ")[0].lower() in _DETERMINING
    if before is not None and brings and before.lower in _DETERMINING:
        slot = replace(slot, start=before.start, outer=min(slot.outer, before.start))
    given = fragment if governed else replace(fragment, prep="")
    made = substitute(question.analysis, slot, given)
    start = words[0 if question.indirect else question.first].start
    end = words[question.end - 1].end
    cut = made[start : len(made) - len(text) + end]
    aux = words[question.aux] if question.aux is not None else None
    varies = slot.start == words[question.subject[0]].start and not governed
    if aux is not None and varies and mention is not None:
        form = agreeing(aux.text, plural=mention.number == "pl")
        cut = cut[: aux.start - start] + form + cut[aux.end - start :]
    return cut + text[end : end + 1].strip()
