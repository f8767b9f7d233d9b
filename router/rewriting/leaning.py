"""Messages that are no sentence of their own: "What about X?", "Same for X", "Why?".

A rewrite of such a message is a sentence said before with the message's words in it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kds.router.language import closed_class as cc
from kds.router.rewriting import words as known
from kds.router.rewriting.changes import brought_in, longer, may_go, negated, tenses
from kds.router.rewriting.mood import mood, mood_of, requests
from kds.router.rewriting.text import Piece, align, keys, read_pieces, straight
from kds.router.rewriting.told import Analyse, Fault, Taken, Told

SENTENCES_READ: Final = 12
"""Sentences of the conversation, newest first, that a message may lean on."""

_SENTENCE: Final = re.compile(r"[^.?!\n]*(?:[.?!]+(?=\s|$)|\.(?=\S)|\n|$)")


def leans(message: str, analyse: Analyse) -> bool:
    """True for a message that is no sentence of its own: "What about X?", "Same for X", "Why?"."""
    if not any(clause.verb is not None for clause in analyse(message).clauses):
        return True
    match = known.CUE.match(straight(message))
    return bool(match and match["cue"])


def as_sentence(
    text: str, pieces: Sequence[Piece], told: Told, analyse: Analyse
) -> Taken | Fault | None:
    """Judge a rewrite as a sentence said before with the message's words in it.

    None when there is no such sentence.
    """
    fragment = _fragment(told.message)
    if not fragment:
        return None
    faults: list[Fault] = []
    for sentence in _sentences_before(told):
        outcome = _substituted(text, pieces, fragment, sentence, told, analyse)
        if isinstance(outcome, Taken):
            return outcome
        if outcome is not None:
            faults.append(outcome)
    return faults[0] if faults else None


def _fragment(message: str) -> tuple[Piece, ...]:
    """What the message adds: without its cue ("what about"), without what points back."""
    match = known.CUE.match(straight(message))
    start = match.end() if match else 0
    tail = known.TAIL.search(straight(message), start)
    end = tail.start() if tail else len(message)
    behind = [piece for piece in read_pieces(message) if start <= piece.start < end]
    if start and behind and behind[0].lower in ("for", "to", "in", "on", "with", "at"):
        behind = behind[1:]
    return tuple(
        piece
        for piece in behind
        if piece.key not in known.CARRYING | known.FILLING
        and (piece.key not in known.POINTING or piece.lower in cc.WH)
    )


def _sentences_before(told: Told) -> Iterator[str]:
    replied = told.replies if told.message.rstrip().endswith("?") else ()
    texts = (told.expanded, *reversed(told.said), *reversed(replied))
    found = (
        sentence.strip()
        for text in texts
        for sentence in _SENTENCE.findall(text[:2_000])
        if len(sentence.split()) > 1
    )
    seen = [one for one in dict.fromkeys(found) if one != told.message.strip()]
    return iter(seen[:SENTENCES_READ])


def _substituted(
    text: str,
    pieces: Sequence[Piece],
    fragment: Sequence[Piece],
    sentence: str,
    told: Told,
    analyse: Analyse,
) -> Taken | Fault | None:
    """Judge ``text`` as ``sentence`` with ``fragment`` in it; None when it is not that sentence."""
    placed = dict(align(fragment, pieces))
    if len(placed) < len(fragment):
        lost = next(piece for i, piece in enumerate(fragment) if i not in placed)
        return Fault("lost word", lost.text)
    base = read_pieces(sentence)
    inside = set(placed.values())
    rest = [piece for j, piece in enumerate(pieces) if j not in inside]
    pairs = align(base, rest)
    kept = {i for i, _ in pairs}
    content = [i for i, piece in enumerate(base) if not may_go(piece, i)]
    if not content or sum(i in kept for i in content) * 2 < len(content):
        return None
    matched = {j for _, j in pairs}
    fault = (
        _one_slot(base, kept, content)
        or _verbs_kept(base, kept, sentence, analyse)
        or _same_place(pieces, inside, rest, pairs, [i for i in content if i not in kept])
        or brought_in(rest, matched, told, own=frozenset(keys(read_pieces(told.message))))
        or longer([*base, *fragment], pieces)
        or negated(base, rest)
        or tenses(base, rest, pairs)
        or _sentence_mood(told.message, sentence, text, analyse)
        or requests(sentence, text, told, analyse)
    )
    phrase = straight(text)
    first, last = (min(inside), max(inside)) if inside else (0, 0)
    brought = phrase[pieces[first].start : pieces[last].end] if inside else ""
    return fault or Taken(text, brought)


def _one_slot(base: Sequence[Piece], kept: set[int], content: Sequence[int]) -> Fault | None:
    """What the message's words replace is one phrase."""
    gone = [i for i in content if i not in kept]
    if gone and any(i in kept for i in content if gone[0] < i < gone[-1]):
        return Fault("lost word", base[gone[-1]].text)
    return None


def _verbs_kept(
    base: Sequence[Piece], kept: set[int], sentence: str, analyse: Analyse
) -> Fault | None:
    """Another verb makes it another request. A wish around an order may go."""
    polite = known.POLITE.match(straight(sentence))
    start = polite.end() if polite else 0
    analysis = analyse(sentence)
    verbs = {
        analysis.words[clause.verb].start for clause in analysis.clauses if clause.verb is not None
    }
    for i, piece in enumerate(base):
        if i not in kept and piece.start in verbs and piece.start >= start:
            return Fault("lost word", piece.text)
    return None


def _same_place(
    pieces: Sequence[Piece],
    inside: set[int],
    rest: Sequence[Piece],
    pairs: Sequence[tuple[int, int]],
    gone: Sequence[int],
) -> Fault | None:
    """The message's words stand where the words stood that they replace."""
    if not (inside and gone):
        return None
    weighty = {j for i, j in pairs if rest[j].key not in known.JOINING | known.CARRYING}
    before = sum(j in weighty and i < gone[0] for i, j in pairs)
    outside = [j for j in range(len(pieces)) if j not in inside]
    first = min(inside)
    found = sum(k in weighty and j < first for k, j in enumerate(outside))
    return None if found == before else Fault("changed meaning", pieces[first].text)


def _sentence_mood(message: str, sentence: str, text: str, analyse: Analyse) -> Fault | None:
    after = mood_of(text, analyse)
    if message.rstrip().endswith("?"):
        return None if after == "question" else Fault("no question any more")
    return mood(sentence, text, analyse)
