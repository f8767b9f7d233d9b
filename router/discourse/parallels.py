"""Parallel structure: which part of an earlier sentence a fragment stands in for.

"What about Windows?" after "How do I install the CLI on Linux?" replaces "Linux". The part
is found by likeness: same label, head, shape, preposition, capitals, determiner.
"""

import re
from collections.abc import Callable, Iterator
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
    slots = [*_phrase_slots(earlier, mentions, fragment), *entity_slots(earlier, fragment)]
    named = fragment.mention is not None and bool(fragment.mention.kind)
    if oblique and not named:
        slots = [replace(s, likeness=s.likeness + OBLIQUE * (s.outer < s.start)) for s in slots]
    if not slots:
        return None
    best = max(slots, key=lambda slot: (slot.likeness, slot.start))
    return best if best.likeness >= MIN_LIKENESS else None


def _phrase_slots(
    earlier: Analysis, mentions: tuple[Mention, ...], fragment: Fragment
) -> Iterator[Slot]:
    words = earlier.words
    for mention in mentions:
        if mention.parts or mention.determiner in cc.WH or mention.role == "poss":
            continue
        outer = words[mention.start].start
        if mention.prep and mention.start and words[mention.start - 1].pos == "ADP":
            outer = words[mention.start - 1].start
        end = words[mention.end - 1].end
        yield Slot(words[mention.start].start, end, outer, likeness(mention, fragment))


def entity_slots(earlier: Analysis, fragment: Fragment) -> Iterator[Slot]:
    """Adjectives and single words with the fragment's label: "purple" for "green"."""
    if not fragment.label:
        return
    if fragment.label == NUMBER:
        for word in earlier.words:
            if word.pos == "NUM":
                outer = (
                    earlier.words[word.i - 1]
                    if word.i and earlier.words[word.i - 1].pos == "ADP"
                    else word
                )
                same = SAME_PREPOSITION * bool(fragment.prep and outer.lower == fragment.prep)
                yield Slot(word.start, word.end, outer.start, SAME_LABEL + same)
        return
    for first, stop, label, _ in earlier.entities:
        phrase = earlier.phrase_at.get(first)
        # a whole phrase is a slot of its own; its modifiers ("the production server") are here
        heads = fragment.mention is not None and phrase is not None and phrase.head < stop
        if label == fragment.label and not heads:
            start, end = earlier.words[first].start, earlier.words[stop - 1].end
            yield Slot(start, end, start, SAME_LABEL)


def likeness(mention: Mention, fragment: Fragment) -> float:
    """How much a phrase of the sentence is like the fragment; 0 when it is not a phrase."""
    other = fragment.mention
    if other is None:
        return 0.0
    score = 0.0
    if mention.label and mention.label == other.label:
        score += SAME_LABEL
    if mention.head == other.head:
        score += SAME_HEAD
    if mention.kind and mention.kind == other.kind:
        score += SAME_KIND + _shared_camel(mention.text, other.text)
    elif _name_inside(mention, other):
        score += SAME_KIND + 1.0
    if fragment.prep and mention.prep == fragment.prep:
        score += SAME_PREPOSITION
    score += 0.5 * (mention.determiner == other.determiner) + 0.5 * (mention.number == other.number)
    score += 0.5 * (mention.head_text[:1].isupper() == other.head_text[:1].isupper())
    return score + {"obj": 0.4, "pobj": 0.3, "subj": 0.3}.get(mention.role, 0.0)


def _name_inside(mention: Mention, other: Mention) -> bool:
    """ "the getUser method" and "getOrder": a name among the modifiers is what is replaced."""
    return bool(other.kind) and any(_shared_camel(m, other.text) for m in mention.text.split())


def _shared_camel(a: str, b: str) -> float:
    """1 when two identifiers share a part at the start or the end ("getUser", "getOrder")."""
    first, second = _CAMEL.findall(a), _CAMEL.findall(b)
    if len(first) < 2 or len(second) < 2 or a == b:
        return 0.0
    return 1.0 if first[0] == second[0] or first[-1] == second[-1] else 0.0


def substitute(earlier: Analysis, slot: Slot, fragment: Fragment) -> str:
    """``earlier.text`` with the slot filled by the fragment; identifiers change by analogy.

    "Rename the getUser method to fetchUser" + getOrder ->
    "Rename the getOrder method to fetchOrder".
    """
    text = earlier.text
    mention = fragment.mention
    old = text[slot.start : slot.end]
    if mention is not None and mention.kind == "code":
        for name in re.findall(r"\w+", old):
            if _shared_camel(name, mention.text):
                return _by_analogy(text, name, mention.text)
    start = slot.outer if fragment.prep else slot.start
    new = f"{fragment.prep} {fragment.text}" if fragment.prep else fragment.text
    if start > 0 and new.split()[0] in {"The", "A", "An", "My", "Our"}:
        new = new[0].lower() + new[1:]
    if (
        start == 0
        and new[:1].islower()
        and old[:1].isupper()
        and old.split()[0].lower() in {"the", "a", "an", "my", "our"}
    ):
        new = new[0].upper() + new[1:]
    return text[:start] + new + text[slot.end :]


def _constant(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _: text


def _by_analogy(text: str, old: str, new: str) -> str:
    changed = [
        (a, b) for a, b in zip(_CAMEL.findall(old), _CAMEL.findall(new), strict=False) if a != b
    ]
    for a, b in changed:
        before = "" if a[0].isupper() else r"(?<![A-Za-z])"
        text = re.sub(rf"{before}{re.escape(a)}(?![a-z])", _constant(b), text)
    return text
