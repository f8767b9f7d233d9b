"""Messages that are no sentence of their own: "What about X?", "Same for X", "Why?".

A rewrite of such a message is a sentence said before with the message's words in it.
"""

import re
from typing import Final

from kds.router.language import closed_class as cc
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.changes import brought_in, longer, negated, tenses
from kds.router.rewriting.comparison import Check, Comparison, Reading, first_fault
from kds.router.rewriting.mood import mood, requests
from kds.router.rewriting.text import Piece, align
from kds.router.rewriting.told import Fault, Taken, Told

SENTENCES_READ: Final = 12
"""Sentences of the conversation, newest first, that a message may lean on."""

_SENTENCE: Final = re.compile(r"[^.?!\n]*(?:[.?!]+(?=\s|$)|\.(?=\S)|\n|$)")


_PREPOSITIONS: Final = frozenset(("for", "to", "in", "on", "with", "at"))


def leans(message: Reading) -> bool:
    """True for a message that is no sentence of its own: "What about X?", "Same for X", "Why?"."""
    if not message.clauses:
        return True
    match = known.CUE.match(message.straight)
    return bool(match and match["cue"])


def as_sentence(message: Reading, after: Reading, told: Told) -> Taken | Fault | None:
    """Judge a rewrite as a sentence said before with the message's words in it.

    None when there is no such sentence.
    """
    fragment, sentences = _fragment(message), _sentences_before(told)
    if not (fragment and sentences):
        return None
    placed = dict(align(fragment, after.pieces))
    if len(placed) < len(fragment):
        return Fault("lost word", next(p.text for i, p in enumerate(fragment) if i not in placed))
    inside = frozenset(placed.values())
    fault = None
    for sentence in sentences:
        before = Reading(sentence, after.analyse)
        these = Comparison(before, after, told, fragment=fragment, inside=inside)
        if not _is_of(these):
            continue
        found = first_fault(these, _AS_SENTENCE)
        if found is None:
            first, last = after.pieces[min(inside)], after.pieces[max(inside)]
            return Taken(after.text, after.straight[first.start : last.end])
        fault = fault or found
    return fault


def _fragment(message: Reading) -> tuple[Piece, ...]:
    """What the message adds: without its cue ("what about"), without what points back."""
    match = known.CUE.match(message.straight)
    start = match.end() if match else 0
    tail = known.TAIL.search(message.straight, start)
    end = tail.start() if tail else len(message.text)
    behind = [piece for piece in message.pieces if start <= piece.start < end]
    if start and behind and behind[0].lower in _PREPOSITIONS:
        behind = behind[1:]
    return tuple(piece for piece in behind if _adds(piece))


def _adds(piece: Piece) -> bool:
    if piece.key in known.CARRYING | known.FILLING:
        return False
    return piece.key not in known.POINTING or piece.lower in cc.WH


def _sentences_before(told: Told) -> list[str]:
    replied = told.replies if told.message.rstrip().endswith("?") else ()
    texts = (told.expanded, *reversed(told.said), *reversed(replied))
    found = (
        sentence.strip()
        for text in texts
        for sentence in _SENTENCE.findall(text[:2_000])
        if len(sentence.split()) > 1
    )
    seen = [one for one in dict.fromkeys(found) if one != told.message.strip()]
    return seen[:SENTENCES_READ]


def _is_of(these: Comparison) -> bool:
    """Whether half of the sentence came back: else the rewrite is of another one."""
    content = these.content
    return bool(content) and sum(i in these.kept for i in content) * 2 >= len(content)


def _gone(these: Comparison) -> list[int]:
    return [i for i in these.content if i not in these.kept]


def _one_slot(these: Comparison) -> Fault | None:
    """What the message's words replace is one phrase."""
    gone = _gone(these)
    if gone and any(i in these.kept for i in these.content if gone[0] < i < gone[-1]):
        return Fault("lost word", these.before.pieces[gone[-1]].text)
    return None


def _verbs_kept(these: Comparison) -> Fault | None:
    """Another verb makes it another request. A wish around an order may go."""
    before = these.before
    verbs = {before.analysis.words[verb].start for verb, _ in before.clauses}
    for i, piece in enumerate(before.pieces):
        if i not in these.kept and piece.start in verbs and piece.start >= before.wish_end:
            return Fault("lost word", piece.text)
    return None


def _same_place(these: Comparison) -> Fault | None:
    """The message's words stand where the words stood that they replace."""
    gone, first = _gone(these), min(these.inside)
    if not gone:
        return None
    light = known.JOINING | known.CARRYING
    weighty = {j: i for i, j in these.pairs if these.theirs[j].key not in light}
    before = sum(i < gone[0] for i in weighty.values())
    # What stands before the first of the message's words has none of them before it.
    found = sum(j < first for j in weighty)
    return None if found == before else Fault("changed meaning", these.after.pieces[first].text)


def _mood(these: Comparison) -> Fault | None:
    if these.told.message.rstrip().endswith("?"):
        return None if these.after.mood == "question" else Fault("no question any more")
    return mood(these)


_AS_SENTENCE: Final[tuple[Check, ...]] = (
    _one_slot, _verbs_kept, _same_place, brought_in, longer, negated, tenses, _mood, requests,
)  # fmt: skip
