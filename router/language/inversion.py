"""Questions: the base verb that "does/can/should + subject" demands further on."""

from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.tokens import Draft, Sentence


def force_inverted_verbs(s: Sentence) -> None:
    """Mark the verb that each inverted auxiliary of the sentence waits for."""
    for i, token in enumerate(s.drafts):
        inverted = token.lower in cc.DO | cc.MODALS and token.pos == "AUX"
        if inverted and (
            i == 0 or s.pos(i - 1) not in {"PRON", "NOUN", "PROPN"} or _wh_before(s, i)
        ):
            _force_after(s, i)


def _wh_before(s: Sentence, i: int) -> bool:
    return any(d.lower in cc.WH for d in s.drafts[max(0, i - 4) : i])


def _force_after(s: Sentence, i: int) -> None:
    first = i + 1
    while s.lower(first) in {"n't", "not"} | (cc.ADVERBS - {"there"}):
        first += 1
    bare = s.pos(first) == "PRON" and s.lower(first) not in {"all", "both"}
    earliest = first + 1 if bare or s.pos(first) not in {"DET"} else first + 2
    candidates: list[int] = []
    for j in range(earliest, len(s.drafts)):
        token = s.drafts[j]
        if token.pos in {"PUNCT", "SCONJ"} or (token.pos == "ADP" and candidates):
            break
        be = token.lower in {"be", "have"} and token.pos in {"AUX", "VERB"}
        if be and j > earliest and s.lower(j - 1) != "to":
            return  # "must the timing belt be replaced": that is the verb
        if token.pos == "DET" and candidates and candidates[-1] == j - 1:
            s.drafts[j - 1].forced = "VERB"  # "must the bank release a file": an object begins
            return
        if (
            token.base and not token.pos and s.pos(j - 1) not in {"DET", "ADP", "NUM"}
        ) or token.pos == "VERB":
            candidates.append(j)
        if bare and token.pos not in {"ADV", "PART", "DET", ""}:
            break
    if candidates:
        s.drafts[_best_verb(s, candidates, bare)].forced = "VERB"


_NEEDING_NO_OBJECT: Final = words("verbs", "needing_no_object")


def _best_verb(s: Sentence, candidates: list[int], bare: bool) -> int:
    if bare:
        return candidates[0]
    last = candidates[-1]
    ends = s.pos(last + 1) in {"", "PUNCT", "ADP"} and last - 1 in candidates
    if ends and s.lower(last) in _NEEDING_NO_OBJECT:
        return last
    for group in (
        [j for j in candidates if _rather_verb(s.drafts[j])],
        [j for j in candidates if not s.drafts[j].noun_first],
    ):
        if group:
            return group[0]
    return candidates[-1]


def _rather_verb(token: Draft) -> bool:
    return not token.reading.noun or token.rather_verb
