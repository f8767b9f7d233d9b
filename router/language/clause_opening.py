"""Verb or noun at the start of a clause: imperatives, and places where a verb must come."""

from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.function_words import is_particle
from kds.router.language.tokens import Draft, Sentence

_OBJECT_OPENERS: Final = cc.ARTICLES | cc.POSSESSIVES | cc.DEMONSTRATIVES | {"it", "them"}
_OFTEN_VERBS: Final = words("qualities", "often_verbs")


def skip_adverbs(s: Sentence, i: int) -> int:
    """Position of the nearest word before ``i`` but adverbs and negations; -1 at the start."""
    j = i - 1
    while j >= 0 and (s.pos(j) == "ADV" or s.lower(j) in {"not", "n't"}):
        j -= 1
    return j


def verb_expected(s: Sentence, i: int) -> bool:
    """True where only a base verb can stand: behind to, modals, do, let ... ."""
    j = skip_adverbs(s, i)
    if j < 0:
        return False
    if s.pos(j) == "PART" and s.lower(j) == "to":
        return True
    if s.lower(j) == "please" or (s.lower(j) == "'s" and s.lower(j - 1) == "let"):
        return True
    if s.pos(j) == "AUX" and s.lower(j) in cc.DO | cc.MODALS:
        if s.drafts[i].reading.noun and any(d.forced for d in s.drafts[i + 1 : i + 4]):
            return False  # "how many days can staff work": the subject comes first
        return s.drafts[i].base and s.pos(j - 1) in {
            "PRON",
            "NOUN",
            "PROPN",
            "INTJ",
            "CCONJ",
            "",
            "PUNCT",
        }
    return s.drafts[i].base and _causative(s, j)


def _causative(s: Sentence, j: int) -> bool:
    """Word ``j`` ends what somebody lets or helps do something: "let users edit"."""
    k = j
    while k >= 0 and s.pos(k) in {"PRON", "DET", "ADJ", "NOUN", "PROPN"}:
        k -= 1
    return k < j and k >= 0 and s.lower(k) in {"let", "help", "lets"} and s.pos(j) != "DET"


def opens_clause(s: Sentence, i: int) -> bool:
    """True at the start of a sentence or clause."""
    j = skip_adverbs(s, i)
    if j < 0 or s.lower(j) in {"please", "then"} or s.pos(j) in {"INTJ", "SCONJ"}:
        return True
    if s.pos(j) == "CCONJ":
        return j == 0 or any(d.pos == "VERB" for d in s.drafts[:j])
    return s.pos(j) == "PUNCT" and s.lower(j) not in {'"', "'", "(", "-", "/"}


def at_clause_start(s: Sentence, i: int, verb_seen: bool) -> str:
    """VERB for an imperative, "" when the word must be judged otherwise."""
    token = s.drafts[i]
    after = s.at(i + 1)
    coordinated = s.pos(skip_adverbs(s, i)) == "CCONJ"
    if s.pos(skip_adverbs(s, i)) == "SCONJ":
        return ""
    if not token.base:
        starts_object = after is not None and after.lower in _OBJECT_OPENERS
        return "VERB" if starts_object and not token.reading.verb else ""
    if _finite_verb_follows(s, i) and token.reading.noun:
        return ""
    if _rarely_verb(token) and after is not None and after.nominal:
        return ""
    if coordinated or (i and s.lower(i - 1) == ","):
        return "VERB" if _object_or_end_follows(s, i) else ""
    if after is None and _modifies(token) and i:
        return ""
    return "VERB"


def _modifies(token: Draft) -> bool:
    return token.adjective_first or token.noun_first


def _rarely_verb(token: Draft) -> bool:
    return token.adjective_first and token.lower not in _OFTEN_VERBS


def _object_or_end_follows(s: Sentence, i: int) -> bool:
    token, after = s.drafts[i], s.at(i + 1)
    if not (token.reading.noun or token.reading.adjective):
        return True
    if after is None:
        return token.verb_first
    if (
        after.lower
        in cc.ARTICLES | cc.POSSESSIVES | cc.PERSONAL | cc.DEMONSTRATIVES | cc.QUANTIFIERS
    ):
        return True
    if after.kind or token.rather_verb:
        return True
    return is_particle(s, i + 1)


def _finite_verb_follows(s: Sentence, i: int) -> bool:
    """Nouns up to a finite verb: "Test coverage is low", "Build fails with ..."."""
    for j in range(i + 1, len(s.drafts)):
        token = s.drafts[j]
        if token.lower in cc.FINITE_AUX or token.lower in {"'s", "'re"}:
            return True
        if token.pos not in {"", "NOUN", "PROPN", "ADJ"}:
            return False
        if token.third and not token.reading.noun:
            return True
        if not token.nominal:
            return False
    return False


def subject_before(s: Sentence, i: int, verb_seen: bool) -> bool:
    """True when the word before is a pronoun that needs a verb."""
    j = skip_adverbs(s, i)
    if s.lower(j) not in cc.SUBJECTS:
        return False
    before = s.pos(j - 1)
    if before == "ADP" and s.lower(j) in {"which", "what"}:
        return False  # "under which conditions?"
    if before in {"", "PUNCT", "CCONJ", "SCONJ", "INTJ", "AUX"} or s.lower(j) in {
        "i",
        "we",
        "they",
        "he",
        "she",
    }:
        return True
    relative = s.lower(j) in {"that", "which", "who"} and before in {"NOUN", "PROPN"}
    reduced = s.lower(j) in {"you", "it"} and before in {"NOUN", "PROPN"}
    return relative or reduced or not verb_seen


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
    if s.lower(i + 1) == "either" and _is_base_verb(s.at(i + 2)):
        s.drafts[i + 2].forced = "VERB"  # "does either survive a drop"
        return
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
        if token.pos == "VERB" or _may_be_forced(s, j, first=not candidates):
            candidates.append(j)
        if bare and token.pos not in {"ADV", "PART", "DET", ""}:
            break
    if candidates:
        s.drafts[_best_verb(s, candidates, bare)].forced = "VERB"


def _may_be_forced(s: Sentence, j: int, *, first: bool) -> bool:
    """Whether an open-class word may be the verb; not "Pack" of "the Battery Pack"."""
    token, before = s.drafts[j], s.drafts[j - 1]
    named = token.text[:1].isupper() and before.text[:1].isupper()
    ends = first and s.pos(j + 1) == "PUNCT"  # "what do 402 and 409 mean"
    inside = {"DET", "ADP"} if ends else {"DET", "ADP", "NUM"}
    return token.base and not token.pos and not named and before.pos not in inside


def _is_base_verb(token: Draft | None) -> bool:
    return token is not None and token.base and not token.reading.noun


_SPANS: Final = frozenset({"long", "often", "far", "fast", "soon"})
_NEEDING_NO_OBJECT: Final = words("verbs", "needing_no_object")


def _best_verb(s: Sentence, candidates: list[int], bare: bool) -> int:
    if bare:
        return candidates[0]
    last = candidates[-1]
    ends = s.pos(last + 1) in {"", "PUNCT", "ADP", "SCONJ"} and last - 1 in candidates
    timed = s.lower(0) == "how" and s.lower(1) in _SPANS  # "how long does an update take"
    if ends and (timed or s.lower(last) in _NEEDING_NO_OBJECT):
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
