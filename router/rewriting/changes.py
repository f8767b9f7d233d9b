"""What a rewrite left out and brought in, word by word.

Functions take the pieces of the message (or of the sentence that it leans on), those of the
rewrite, and the positions of what both have (`rewriting_text.align`).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kds.brain.words.irregular import FORMS
from kds.brain.words.stem import stem
from kds.router.language import closed_class as cc
from kds.router.rewriting import words as known
from kds.router.rewriting.text import Piece, read_pieces, straight
from kds.router.rewriting.told import Analyse, Fault, Told

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
    apart = any(piece.key in known.SETTING_APART for piece in read_pieces(told.message))
    for piece in pieces:
        if _was_said(piece, told) or (apart and piece.key in known.BESIDES):
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


def lost(mine: Sequence[Piece], kept: set[int], told: Told, analyse: Analyse) -> Fault | None:
    """The first word of the message that did not come back, and may not go."""
    polite = known.POLITE.match(straight(told.message))
    start = polite.end() if polite else 0
    pointing = _pointing(mine, told.message, analyse)
    for i, piece in enumerate(mine):
        if i in kept or piece.start < start or i in pointing or may_go(piece, i):
            continue
        before_pointing = i + 1 in pointing and i + 1 not in kept
        if not (before_pointing and piece.lower in cc.PREPOSITIONS | cc.QUANTIFIERS):
            return Fault("lost word", piece.text)
    return None


def _pointing(mine: Sequence[Piece], message: str, analyse: Analyse) -> frozenset[int]:
    """Positions of phrases that point back: "it", "that file", "the second one"."""
    analysis = analyse(message)
    spans = [
        (analysis.words[phrase.start].start, analysis.words[phrase.end - 1].end)
        for phrase in analysis.phrases
        if phrase.determiner in cc.DEMONSTRATIVES
    ]
    found = {i for i, piece in enumerate(mine) if piece.key in known.POINTING}
    for i, piece in enumerate(mine):
        inside = any(start <= piece.start and piece.end <= end for start, end in spans)
        ranking = i + 1 < len(mine) and mine[i + 1].lower in ("one", "ones") and _ranks(piece)
        if (inside or ranking) and piece.key not in known.NEGATIONS:
            found.add(i)
    return frozenset(found)


def _ranks(piece: Piece) -> bool:
    """ "the second one", "the newer one"; not "the staging one", which says what it is."""
    return piece.key in known.RANKING or piece.lower.endswith(("er", "est"))


def may_go(piece: Piece, i: int) -> bool:
    """Whether the piece at ``i`` may be missing: it points back, fills, or goes with another."""
    if piece.key in known.NEGATIONS:
        return i == 0 and piece.key == "no"
    if piece.kind in ("number", "code"):
        return False
    return piece.key in known.POINTING | known.FILLING | known.CARRYING


def turned(
    mine: Sequence[Piece], pieces: Sequence[Piece], pairs: Sequence[tuple[int, int]]
) -> Fault | None:
    """ "to the header" must not come back as "from the header", nor "them" as "to them"."""
    kept, taken = {i for i, _ in pairs}, {j for _, j in pairs}
    for i, j in pairs:
        if mine[i].lower in cc.PREPOSITIONS or mine[i].key in known.CARRYING:
            continue
        before = _preposition(mine, i, kept)
        after = _preposition(pieces, j, taken, reach=PHRASE if before else 2)
        if before != after and "of" not in (before, after):
            return Fault("changed meaning", f"'{after}' instead of '{before}'")
    return None


def _preposition(pieces: Sequence[Piece], i: int, kept: set[int], *, reach: int = PHRASE) -> str:
    """The preposition before a phrase; "" when another word of the message stands between."""
    for j in range(i - 1, max(i - reach - 1, -1), -1):
        if pieces[j].lower in cc.PREPOSITIONS:
            return pieces[j].lower
        ends = (j in kept and pieces[j].key not in known.CARRYING) or reach < PHRASE
        if ends and pieces[j].key not in ("the", "a"):
            return ""
    return ""


def tenses(
    mine: Sequence[Piece], pieces: Sequence[Piece], pairs: Sequence[tuple[int, int]]
) -> Fault | None:
    """ "pays" may come back as "pay", but not as "paid"."""
    for i, j in pairs:
        one, two = mine[i].lower, pieces[j].lower
        if one != two and _is_past(one, mine[i].key) != _is_past(two, pieces[j].key):
            return Fault("changed meaning", f"'{pieces[j].text}' instead of '{mine[i].text}'")
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


def vague(mine: Sequence[Piece]) -> bool:
    """True for "do it", "and that?": whatever comes in, nothing of the message holds it."""
    return all(may_go(piece, i) for i, piece in enumerate(mine))


def longer(mine: Sequence[Piece], pieces: Sequence[Piece]) -> Fault | None:
    """It must not grow out of proportion."""
    most = max(len(mine) + GROWN, int(GROWTH * len(mine)))
    return Fault("length", f"{len(pieces)} words") if len(pieces) > most else None


def brought_in(
    pieces: Sequence[Piece],
    kept: set[int],
    told: Told,
    *,
    own: frozenset[str] = frozenset(),
) -> Fault | None:
    """What came in must be a phrase of the conversation, and must not limit or turn the rest.

    ``own``: keys that the message itself has, where ``pieces`` are compared with another text.
    """
    for run in _runs(pieces, kept):
        if len(run) > RUN:
            return Fault("length", f"{len(run)} words at one place")
        fault = (
            _limiting(run, pieces, told, own)
            or _together(run, pieces, told, own)
            or _compound(run, pieces, told)
            or _counted(run, pieces, told)
        )
        if fault is not None:
            return fault
    return None


def _runs(pieces: Sequence[Piece], kept: set[int]) -> Iterator[range]:
    """Positions of what was brought in, place by place."""
    start = None
    for j in range(len(pieces) + 1):
        inside = j < len(pieces) and j not in kept
        if inside and start is None:
            start = j
        elif not inside and start is not None:
            yield range(start, j)
            start = None


def _limiting(run: range, pieces: Sequence[Piece], told: Told, own: frozenset[str]) -> Fault | None:
    apart = any(piece.key in known.SETTING_APART for piece in read_pieces(told.message))
    for j in run:
        key = pieces[j].key
        named = pieces[j].kind == "name" and pieces[j].text in told.proper
        if key not in known.LIMITING or key in own or named or (apart and key in known.BESIDES):
            continue
        follows = next((p.key for p in pieces[j + 1 :] if p.key not in ("the", "a")), "")
        if (key, follows) not in told.pairs:
            return Fault("changed meaning", pieces[j].text)
    return None


def _together(run: range, pieces: Sequence[Piece], told: Told, own: frozenset[str]) -> Fault | None:
    """ "it" is one thing: "and" comes in with a name that had it, or for "them"."""
    if any(piece.lower in known.SEVERAL for piece in read_pieces(told.message)):
        return None
    for j in run:
        joint = pieces[j].key
        if joint not in ("and", "or") or joint in own:
            continue
        follows = next((p.key for p in pieces[j + 1 :] if p.key not in ("the", "a")), "")
        before = pieces[j - 1].key if j else ""
        if not {(before, joint), (joint, follows)} <= told.pairs:
            return Fault("changed meaning", pieces[j].text)
    return None


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


def negated(mine: Sequence[Piece], pieces: Sequence[Piece]) -> Fault | None:
    """Negations must come back, before the same words. A leading "no" answers, and may go."""
    before, after = list(_negations(mine)), list(_negations(pieces))
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


def pointless(
    mine: Sequence[Piece], pieces: Sequence[Piece], pairs: Sequence[tuple[int, int]]
) -> Fault | None:
    """What pointed back is gone, and nothing stands in its place."""
    kept, taken = {i for i, _ in pairs}, {j for _, j in pairs}
    gone = [p.text for i, p in enumerate(mine) if i not in kept and p.key in known.POINTING]
    empty = known.JOINING | known.CARRYING | known.POINTING | known.FILLING
    brought = any(p.key not in empty for j, p in enumerate(pieces) if j not in taken)
    return Fault("lost word", gone[0]) if gone and not brought else None


def longest(text: str, pieces: Sequence[Piece], kept: set[int]) -> str:
    """The longest phrase that was brought in, without the words that join it."""
    found = ""
    for run in _runs(pieces, kept):
        inner = list(run)
        while inner and pieces[inner[0]].key in known.JOINING:
            inner.pop(0)
        while inner and pieces[inner[-1]].key in known.JOINING:
            inner.pop()
        if inner:
            phrase = straight(text)[pieces[inner[0]].start : pieces[inner[-1]].end]
            found = max(found, phrase, key=len)
    return found
