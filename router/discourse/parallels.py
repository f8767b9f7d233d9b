"""Which part of an earlier sentence a fragment stands in for.

"What about Windows?" after "How do I install the CLI on Linux?" replaces "Linux". The part
is found by likeness: same label, head, shape, preposition, capitals, determiner.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kds.router.discourse.mention import Mention
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis

NUMBER: Final = "NUMBER"
"""Label of a fragment that is only a number ("No, 16px")."""

MIN_LIKENESS: Final = 1.5
"""Below this nothing in the sentence is like the fragment; set on the development dialogues."""

SAME_LABEL: Final = 3.0
SAME_HEAD: Final = 3.0
SAME_KIND: Final = 2.5
SAME_PREPOSITION: Final = 2.0
OBLIQUE: Final = 0.5
_ROLES: Final = {"obj": 0.4, "pobj": 0.3, "subj": 0.3}
_CAMEL: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Fragment:
    """What the user said in place of a whole sentence: words ``start`` to ``end``."""

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


def best_slot(
    earlier: Analysis, mentions: tuple[Mention, ...], fragment: Fragment, *, oblique: bool = False
) -> Slot | None:
    """The part of ``earlier`` that the fragment replaces; None when nothing is alike.

    With ``oblique`` what stands behind a preposition is preferred ("the same for X").
    """
    slots = [
        slot_at(earlier, mention, fragment)
        for mention in mentions
        if not mention.parts and mention.role != "poss"
    ]
    slots += entity_slots(earlier, fragment)
    if oblique and not (fragment.mention and fragment.mention.kind):
        slots = [replace(s, likeness=s.likeness + OBLIQUE * (s.outer < s.start)) for s in slots]
    best = max(slots, key=lambda slot: (slot.likeness, slot.start), default=None)
    return best if best is not None and best.likeness >= MIN_LIKENESS else None


def slot_at(earlier: Analysis, mention: Mention, fragment: Fragment) -> Slot:
    """The place of a phrase, and how much it is like the fragment."""
    words = earlier.words
    start, end = words[mention.start].start, words[mention.end - 1].end
    governed = mention.prep and mention.start and words[mention.start - 1].pos == "ADP"
    outer = words[mention.start - 1].start if governed else start
    return Slot(start, end, outer, likeness(mention, fragment))


def entity_slots(earlier: Analysis, fragment: Fragment) -> Iterator[Slot]:
    """Adjectives and single words with the fragment's label: "purple" for "green"."""
    words = earlier.words
    if fragment.label == NUMBER:
        for word in words:
            if word.pos == "NUM":
                governed = word.i and words[word.i - 1].pos == "ADP"
                yield Slot(word.start, word.end, words[word.i - bool(governed)].start, SAME_LABEL)
        return
    for first, stop, label, _ in earlier.entities:
        phrase = earlier.phrase_at.get(first)
        # a whole phrase is a slot of its own; its modifiers ("the production server") are here
        heads = fragment.mention is not None and phrase is not None and phrase.head < stop
        if label == fragment.label and not heads:
            start, end = words[first].start, words[stop - 1].end
            yield Slot(start, end, start, SAME_LABEL)


def likeness(mention: Mention, fragment: Fragment) -> float:
    """How much a phrase of the sentence is like the fragment; 0 when it is not a phrase."""
    other = fragment.mention
    if other is None:
        return 0.0
    score = SAME_LABEL * bool(mention.label and mention.label == other.label)
    score += SAME_HEAD * (mention.head == other.head)
    if mention.kind and mention.kind == other.kind:
        score += SAME_KIND + _share_part(mention.text, other.text)
    elif other.kind and any(_share_part(name, other.text) for name in mention.text.split()):
        score += SAME_KIND + 1.0  # "the getUser method" and "getOrder"
    score += SAME_PREPOSITION * bool(fragment.prep and mention.prep == fragment.prep)
    score += 0.5 * (mention.determiner == other.determiner) + 0.5 * (mention.number == other.number)
    score += 0.5 * (mention.head_text[:1].isupper() == other.head_text[:1].isupper())
    return score + _ROLES.get(mention.role, 0.0)


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
    if start and new.partition(" ")[0].lower() in cc.ARTICLES | cc.POSSESSIVES:
        new = new[0].lower() + new[1:]
    return text[:start] + new + text[slot.end :]
