"""What a rewrite left out and brought in, word by word. Each check looks at one comparison."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kds.brain.words.irregular import FORMS
from kds.brain.words.stem import stem
from kds.router.language import closed_class as cc
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.comparison import Comparison, Reading
from kds.router.rewriting.text import Piece
from kds.router.rewriting.told import Fault, Told

GROWTH: Final = 5.0
"""Times as many words as the message has; GROWN more are always allowed. The rewrites of CANARD
and CAsT have three times as many at the 99th percentile."""

GROWN: Final = 20
"""Words that a short message may grow by."""

PHRASE: Final = 12
"""Words between a preposition and the noun it belongs to, at most."""

RUN: Final = 14
"""Words brought in at one place: a name with its surroundings, not a sentence."""


def strange(pieces: Sequence[Piece], told: Told) -> Fault | None:
    """The first piece that nobody said: a name, a number, a word."""
    for piece in pieces:
        if _was_said(piece, told) or (told.sets_apart and piece.key in known.BESIDES):
            continue
        if piece.key in known.NEGATIONS:
            return Fault("negation", piece.text)
        kind = "word" if piece.kind == "name" and piece.start == 0 else piece.kind
        return Fault(f"new {kind}", piece.text)
    return None


def _was_said(piece: Piece, told: Told) -> bool:
    if piece.kind == "code":
        return piece.text in told.codes
    if piece.kind == "number":
        return piece.key in told.keys
    if piece.key in known.JOINING or piece.key in known.CARRYING:
        return True
    if piece.kind == "name" and piece.start > 0:
        return bool({piece.lower, f"{piece.lower}s", piece.lower.removesuffix("s")} & told.forms)
    return piece.key in told.keys


def lost(these: Comparison) -> Fault | None:
    """The first word of the message that did not come back, and may not go."""
    mine, pointing = these.before.pieces, _pointing(these.before)
    for i in these.content:
        if i in these.kept or i in pointing or mine[i].start < these.before.wish_end:
            continue
        before_pointing = i + 1 in pointing and i + 1 not in these.kept
        if not (before_pointing and mine[i].lower in cc.PREPOSITIONS | cc.QUANTIFIERS):
            return Fault("lost word", mine[i].text)
    return None


def _pointing(message: Reading) -> frozenset[int]:
    """Positions of phrases that point back: "it", "that file", "the second one"."""
    phrases = [*_demonstrated(message), *_ranked(message.pieces)]
    itself = (i for i, piece in enumerate(message.pieces) if piece.key in known.POINTING)
    within = (i for i in phrases if message.pieces[i].key not in known.NEGATIONS)
    return frozenset((*itself, *within))


def _demonstrated(message: Reading) -> Iterator[int]:
    words = message.analysis.words
    for phrase in message.analysis.phrases:
        if phrase.determiner in cc.DEMONSTRATIVES:
            start, end = words[phrase.start].start, words[phrase.end - 1].end
            yield from (
                i for i, p in enumerate(message.pieces) if start <= p.start and p.end <= end
            )


def _ranked(pieces: Sequence[Piece]) -> Iterator[int]:
    for i, (one, two) in enumerate(pairwise(pieces)):
        if two.lower in ("one", "ones") and _ranks(one):
            yield i


def _ranks(piece: Piece) -> bool:
    """ "the second one", "the newer one"; not "the staging one", which says what it is."""
    return piece.key in known.RANKING or piece.lower.endswith(("er", "est"))


def turned(these: Comparison) -> Fault | None:
    """ "to the header" must not come back as "from the header", nor "them" as "to them"."""
    mine, theirs = these.before.pieces, these.theirs
    for i, j in these.pairs:
        if mine[i].lower in cc.PREPOSITIONS or mine[i].key in known.CARRYING:
            continue
        before = _preposition(mine, i, these.kept)
        after = _preposition(theirs, j, these.taken, reach=PHRASE if before else 2)
        if before != after and "of" not in (before, after):
            return Fault("changed meaning", f"'{after}' instead of '{before}'")
    return None


def _preposition(
    pieces: Sequence[Piece], i: int, kept: frozenset[int], *, reach: int = PHRASE
) -> str:
    """The preposition before a phrase; "" when another word of the message stands between."""
    for j in range(i - 1, max(i - reach - 1, -1), -1):
        if pieces[j].lower in cc.PREPOSITIONS:
            return pieces[j].lower
        ends = (j in kept and pieces[j].key not in known.CARRYING) or reach < PHRASE
        if ends and pieces[j].key not in ("the", "a"):
            return ""
    return ""


def tenses(these: Comparison) -> Fault | None:
    """ "pays" may come back as "pay", but not as "paid"."""
    for i, j in these.pairs:
        one, two = these.before.pieces[i], these.theirs[j]
        if one.lower != two.lower and _is_past(one.lower, one.key) != _is_past(two.lower, two.key):
            return Fault("changed meaning", f"'{two.text}' instead of '{one.text}'")
    return None


def _is_past(form: str, key: str) -> bool:
    if form in ("was", "were", "been", "had", "did", "done"):
        return True
    if key in ("be", "have", "do"):
        return False
    base = FORMS.get(stem(form), (form,))[0]
    if len(FORMS.get(stem(form), ())) > 1:
        return not form.startswith(base) and not form.endswith("ing")
    return form.endswith("ed") and len(form) > 4


def longer(these: Comparison) -> Fault | None:
    """It must not grow out of proportion."""
    own, count = len(these.before.pieces) + len(these.fragment), len(these.after.pieces)
    return (
        Fault("length", f"{count} words") if count > max(own + GROWN, int(GROWTH * own)) else None
    )


def brought_in(these: Comparison) -> Fault | None:
    """What came in must be a phrase of the conversation, and must not limit or turn the rest."""
    for run in these.runs:
        if len(run) > RUN:
            return Fault("length", f"{len(run)} words at one place")
        fault = (
            _limiting(run, these)
            or _together(run, these)
            or _compound(run, these.theirs, these.told)
            or _counted(run, these.theirs, these.told)
        )
        if fault is not None:
            return fault
    return None


def _limiting(run: range, these: Comparison) -> Fault | None:
    told = these.told
    free = (_own(these) | known.BESIDES) if told.sets_apart else _own(these)
    for j in run:
        piece = these.theirs[j]
        named = piece.kind == "name" and piece.text in told.proper
        if piece.key not in known.LIMITING - free or named:
            continue
        if (piece.key, _follows(these.theirs, j)) not in told.pairs:
            return Fault("changed meaning", piece.text)
    return None


def _together(run: range, these: Comparison) -> Fault | None:
    """ "it" is one thing: "and" comes in with a name that had it, or for "them"."""
    if these.told.is_of_several:
        return None
    for j in run:
        joint = these.theirs[j].key
        if joint not in {"and", "or"} - _own(these):
            continue
        before = these.theirs[j - 1].key if j else ""
        if not {(before, joint), (joint, _follows(these.theirs, j))} <= these.told.pairs:
            return Fault("changed meaning", these.theirs[j].text)
    return None


def _own(these: Comparison) -> frozenset[str]:
    """Keys that the message itself has, where the rewrite is compared with another text."""
    return these.told.own_keys if these.fragment else frozenset()


def _follows(pieces: Sequence[Piece], j: int) -> str:
    return next((one.key for one in pieces[j + 1 :] if one.key not in ("the", "a")), "")


def _compound(run: range, pieces: Sequence[Piece], told: Told) -> Fault | None:
    """Names of the conversation put together anew make a name that nobody used."""
    for i, j in pairwise(run):
        one, two = pieces[i], pieces[j]
        if one.kind == two.kind == "name" and not _go_together(one, two, told):
            return Fault("new name", f"{one.text} {two.text}")
    return None


def _counted(run: range, pieces: Sequence[Piece], told: Told) -> Fault | None:
    """A number that is brought in belongs to what it belonged to before."""
    weighty = [piece for piece in pieces if piece.key not in known.JOINING]
    for j in run:
        if pieces[j].kind != "number" and pieces[j].lower not in cc.NUMBERS:
            continue
        if j and (pieces[j - 1].key, pieces[j].key) in told.pairs:
            continue  # "in 1997"
        at = weighty.index(pieces[j])
        beside = pairwise(weighty[max(at - 1, 0) : at + 2])
        if not any((one.key, two.key) in told.compounds for one, two in beside):
            return Fault("new number", pieces[j].text)
    return None


def _go_together(one: Piece, two: Piece, told: Told) -> bool:
    joined = {one.key, two.key} & (known.JOINING | known.BESIDES)
    return bool(joined) or (one.key, two.key) in told.compounds


def negated(these: Comparison) -> Fault | None:
    """Negations must come back, before the same words. A leading "no" answers, and may go."""
    mine = these.before.pieces
    before, after = list(_negations(mine)), list(_negations(these.theirs))
    if before and mine[0].key == "no" and len(after) == len(before) - 1:
        before = before[1:]
    if len(before) != len(after):
        return Fault("negation", f"{len(after)} instead of {len(before)}")
    for one, two in zip(before, after, strict=True):
        if one not in ("", two):
            return Fault("negation", f"of '{two}' instead of '{one}'")
    return None


def _negations(pieces: Sequence[Piece]) -> Iterator[str]:
    """The word that each negation stands before; "" for one that points back."""
    for i, piece in enumerate(pieces):
        if piece.key in known.NEGATIONS:
            follows = next((p.key for p in pieces[i + 1 :] if p.key not in known.CARRYING), "")
            yield "" if follows in known.POINTING else follows


def pointless(these: Comparison) -> Fault | None:
    """What pointed back is gone, and nothing stands in its place."""
    pieces = these.before.pieces
    gone = [
        one for i, one in enumerate(pieces) if i not in these.kept and one.key in known.POINTING
    ]
    empty = known.JOINING | known.CARRYING | known.POINTING | known.FILLING
    brought = any(these.theirs[j].key not in empty for run in these.runs for j in run)
    return Fault("lost word", gone[0].text) if gone and not brought else None
