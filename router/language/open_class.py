"""Open-class words: verb or noun where a clause opens, and what they are inside phrases."""

from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.function_words import RESULTATIVE, closed_pos, is_particle
from kds.router.language.lexicon import readings
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
    if after is None and (token.adjective_first or token.noun_first) and i:
        return ""
    return "VERB"


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


def force_asked_verb(s: Sentence) -> None:
    """Mark the verb of "which of the two comes first": the numeral before it does not modify it."""
    i = _end_of_asked(s)
    token = None if i is None else s.at(i)
    if i is None or token is None or token.pos or not (token.third or token.base):
        return
    ends = not s.lower(i + 1).isalnum()  # "which of the two tests?"
    if not (ends and token.reading.noun) and not _is_asked_noun(s, i):
        token.forced = "VERB"


def _end_of_asked(s: Sentence) -> int | None:
    """Where "which of the two", "which two" or "which of them" ends, if the sentence asks so."""
    i = 0
    while s.pos(i) in {"CCONJ", "INTJ", "PUNCT"} or s.lower(i) in {"so", "then"}:
        i += 1
    if s.lower(i) not in {"which", "who"}:
        return None
    i += 2 if s.lower(i + 1) == "one" else 1
    begins = i
    if s.lower(i) == "of" and s.lower(i + 1) in _CHOSEN_FROM:
        i += 2
    counted = s.pos(i) == "NUM" and s.lower(i).isalpha()
    pronoun = s.lower(i - 1) in _CHOSEN_FROM - {"the"}
    return i + counted if counted or (i > begins and pronoun) else None


_CHOSEN_FROM: Final = frozenset("the these those them".split())


def _is_asked_noun(s: Sentence, i: int) -> bool:
    """ "tests" of "which of the two tests fails": a verb, or who it is for, comes behind it."""
    if s.lower(i + 1) in cc.SUBJECTS or _is_base_predicate(s, i + 1):
        return True
    rest = s.drafts[i + 1 : _clause_end(s, i)]
    return any(d.pos == "AUX" or (not d.pos and (d.third or d.past)) for d in rest)


def _is_base_predicate(s: Sentence, i: int) -> bool:
    token = s.at(i)
    if token is None or token.pos or not token.base:
        return False
    return _rather_verb(token) or not s.lower(i + 1).isalnum()


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


_ADJECTIVE_ENDINGS: Final = ("able", "ible", "ous", "ful", "less", "ish", "ive", "al", "ic")


_OBJECT_OPENERS_PHRASE: Final = (
    cc.ARTICLES | cc.POSSESSIVES | cc.PERSONAL | cc.DEMONSTRATIVES | cc.QUANTIFIERS
)


def after_be(s: Sentence, i: int) -> str:
    """A word behind be, seem, look ...: adjective, participle or noun."""
    token, after = s.drafts[i], s.at(i + 1)
    compound = after is not None and not after.pos and token.reading.noun and after.reading.noun
    if token.reading.adjective and not compound:
        return "ADJ"
    if token.gerund or token.past:
        return "VERB"
    if token.reading.adjective:
        return "ADJ"
    if token.reading.noun or not token.reading.known:
        return (
            "ADJ"
            if not token.reading.known and token.lower.endswith(_ADJECTIVE_ENDINGS)
            else "NOUN"
        )
    if token.base and after is not None and not after.pos and after.reading.noun:
        return "NOUN"  # "are refresh tokens encrypted"
    return "ADV" if token.reading.adverb else "VERB"


def after_object(s: Sentence, i: int) -> str:
    """A word behind the pronoun object of a verb: "make it purple"."""
    token = s.drafts[i]
    caused = s.lower(skip_adverbs(s, i) - 1) in {"make", "let", "help", "have", "see"}
    if caused and token.base and not token.reading.adjective and not token.noun_first:
        return "VERB"
    if token.reading.adjective or token.past:
        return "ADJ"
    if not token.reading.known and token.lower.endswith(_ADJECTIVE_ENDINGS):
        return "ADJ"
    if token.gerund:
        return "VERB"
    if token.reading.noun or not token.reading.known:
        return "NOUN"
    return "ADV" if token.reading.adverb else "VERB"


def in_phrase(s: Sentence, i: int, verb_seen: bool) -> str:
    """A word behind a determiner, modifier or noun."""
    token = s.drafts[i]
    before = s.pos(i - 1)
    nominal_next = _nominal_follows(s, i)
    if before == "NOUN" and not nominal_next and _says_what_it_becomes(s, i):
        return "ADJ"
    if before in {"NOUN", "PROPN"} and (verdict := _behind_noun(s, i, verb_seen)):
        return verdict
    complement = before == "ADJ" and s.pos(i - 2) in {"NOUN", "PROPN"} and not nominal_next
    if complement and token.adjective_first:
        return "ADJ"
    if (
        token.reading.adjective
        and nominal_next
        and (not token.reading.noun or token.adjective_first)
    ):
        return "ADJ"
    if (token.gerund or token.past) and nominal_next and not token.reading.noun:
        return "ADJ"
    if not token.reading.known:
        return _by_ending(token, i, nominal_next=nominal_next)
    if token.reading.noun:
        return "PROPN" if is_name(token, i) else "NOUN"
    if token.reading.adjective:
        return "ADJ"
    if token.reading.adverb:
        return "ADV"
    return "NOUN" if token.gerund or token.base or before in {"DET", "ADJ", "NUM"} else "VERB"


def _says_what_it_becomes(s: Sentence, i: int) -> bool:
    """ "make that form narrower", "make this wizard skippable": forms that no lexicon has."""
    j = i - 1
    while s.pos(j) in {"NOUN", "ADJ"}:
        j -= 1
    made = s.pos(j) == "DET" and j > 0 and s.drafts[j - 1].reading.verb in RESULTATIVE
    word = s.lower(i)
    stems = (word[:-2], word[:-1], word[:-3]) if word.endswith("er") else ()
    compared = any(readings(stem).adjective for stem in stems)
    joined = "-" in word and (word.endswith("ed") or bool(readings(word.split("-")[-1]).adjective))
    return made and (compared or joined or word.endswith(("able", "ible", "less")))


def _behind_noun(s: Sentence, i: int, verb_seen: bool) -> str:
    """Where a noun phrase may end: predicate, participle, complement; "" when it goes on."""
    token = s.drafts[i]
    nominal_next = _nominal_follows(s, i)
    if token.past and not nominal_next and _closes_passive(s, i):
        return "VERB"
    if not verb_seen and _is_predicate(s, i):
        return "VERB"
    if token.gerund and not nominal_next:
        return "NOUN" if _is_name_of_activity(s, i) else "VERB"
    if token.past and not token.reading.noun and not token.reading.adjective:
        return "ADJ" if nominal_next else "VERB"
    like_one = token.adjective_first or token.lower.endswith(_ADJECTIVE_ENDINGS)
    plain_adjective = not token.reading.noun or (like_one and not token.noun_first)
    return "ADJ" if token.reading.adjective and plain_adjective and not nominal_next else ""


def _closes_passive(s: Sentence, i: int) -> bool:
    """ "How is the amount set?", "Are the vaccines given for free?": be, its subject, this."""
    if s.drafts[i].third or s.drafts[i].adjective_first:
        return False
    j = i - 1
    while s.pos(j) in {"DET", "ADJ", "NUM", "NOUN", "PROPN"}:
        j -= 1
    opens = s.pos(j - 1) in {"", "ADV", "PRON", "CCONJ", "PUNCT"}
    return s.lower(j) in cc.BE and opens and s.pos(j + 1) == "DET"


def _is_name_of_activity(s: Sentence, i: int) -> bool:
    """ "rate limiting", "error handling": a noun compound, not a verb with its subject."""
    after = s.lower(i + 1)
    starts_object = after in cc.ARTICLES | cc.POSSESSIVES or s.drafts[i].lower in {
        "failing",
        "missing",
    }
    return not starts_object and (s.lower(i - 2) not in cc.BE or s.lower(0) == "what")


def _is_predicate(s: Sentence, i: int) -> bool:
    token = s.drafts[i]
    if not token.reading.verb or token.gerund:
        return False
    if any(_surely_verb(d) for d in s.drafts[i + 1 : _clause_end(s, i)]):
        return False
    if _ends_fragment(s, i):
        return False
    after = s.at(i + 1)
    open_end = (
        after is None or closed_pos(after.lower) or not after.text[:1].isalnum() or after.kind
    )
    if token.third or (
        token.past and (not token.reading.adjective or (after and after.pos == "DET"))
    ):
        return bool(open_end) or not token.noun_first
    if not token.base or after is None:
        return False
    pair = any(d.lower in {"and", "both"} for d in s.drafts[:i]) and token.rather_verb
    plural = s.drafts[i - 1].lower.endswith("s")
    return pair or (plural and (bool(open_end) or token.rather_verb))


def _ends_fragment(s: Sentence, i: int) -> bool:
    """ "And the spark plugs?", "and for bank debits": a phrase asked about, not a statement."""
    token = s.drafts[i]
    nominal = bool(token.reading.noun) or token.noun_first
    if not nominal or token.reading.verb in s.english.preferences["verb_first"]:
        return False
    if any(d.text[:1].isalnum() for d in s.drafts[i + 1 :]):
        return False
    start = 0
    while s.pos(start) in {"CCONJ", "INTJ", "PUNCT"} or s.lower(start) in _FRAGMENT_OPENERS:
        start += 1
    governed = s.pos(start) == "ADP"
    asked = s.lower(len(s.drafts) - 1) == "?"
    leaning = asked or (start > 0 and s.pos(0) not in {"PUNCT", "INTJ"})
    inside = all(
        s.pos(j) in {"DET", "ADJ", "NUM", "NOUN", "PROPN"} for j in range(start + governed, i)
    )
    return inside and (governed or leaning)


_FRAGMENT_OPENERS: Final = frozenset("what how about also same even only".split())


def _clause_end(s: Sentence, i: int) -> int:
    for j in range(i + 1, len(s.drafts)):
        if s.pos(j) in {"PUNCT", "SCONJ", "CCONJ"}:
            return j
    return len(s.drafts)


def _surely_verb(token: Draft) -> bool:
    return token.pos in {"AUX", "VERB"} or (
        bool(token.reading.verb)
        and not token.pos
        and not (token.reading.noun or token.reading.adjective or token.gerund or token.base)
    )


def _nominal_follows(s: Sentence, i: int) -> bool:
    after = s.at(i + 1)
    if after is None or not (after.text[:1].isalnum() or after.kind):
        return False
    if after.forced:
        return False
    if after.pos:
        return after.pos in {"NOUN", "PROPN", "NUM"} or (
            after.pos == "PRON" and after.lower in {"one", "ones"}
        )
    return after.nominal and not (after.reading.adverb and not after.reading.noun)


def bare(s: Sentence, i: int, verb_seen: bool) -> str:
    """A word that opens a phrase without a determiner, or stands alone."""
    token = s.drafts[i]
    nominal_next = _nominal_follows(s, i)
    after_preposition = s.pos(i - 1) == "ADP"
    if token.reading.adverb and not token.reading.noun and not token.reading.adjective:
        return "ADV"
    if token.gerund:
        return _bare_gerund(s, i, verb_seen)
    noun_first = token.reading.noun and token.noun_first
    if token.reading.adjective and s.pos(i - 1) == "SCONJ" and s.pos(i + 1) == "PUNCT":
        return "ADJ"  # "if possible, ..."
    if token.reading.adjective and (nominal_next or not token.reading.noun) and not noun_first:
        return "ADJ"
    if token.past and not token.reading.noun:
        return "ADJ" if nominal_next else "VERB"
    if after_preposition and token.base:
        return "NOUN"
    if not token.reading.known:
        return _by_ending(token, i, nominal_next=nominal_next)
    if token.reading.noun:
        return "PROPN" if is_name(token, i) else "NOUN"
    object_of_verb = s.pos(i - 1) == "VERB" and token.base
    return "VERB" if token.reading.verb and not object_of_verb else "NOUN"


def _bare_gerund(s: Sentence, i: int, verb_seen: bool) -> str:
    nominal_next = _nominal_follows(s, i)
    after_preposition = s.pos(i - 1) == "ADP"
    if s.lower(i + 1) in _OBJECT_OPENERS_PHRASE or (after_preposition and nominal_next):
        return "VERB"
    if nominal_next:
        return "ADJ"
    return "NOUN" if after_preposition or verb_seen or s.drafts[i].reading.noun else "VERB"


def _by_ending(token: Draft, i: int, *, nominal_next: bool) -> str:
    """A word that the lexicon does not have."""
    if token.lower.endswith("ly") and not token.lower.endswith("-only"):  # "a read-only mode"
        return "ADV"
    modifies = nominal_next and token.text.islower()
    if modifies and token.lower.endswith(("able", "ible", "ous", "less")):
        return "ADJ"
    return "PROPN" if is_name(token, i) else "NOUN"


def is_name(token: Draft, i: int) -> bool:
    """True for a capitalised word that the sentence start does not explain."""
    return token.text[:1].isupper() and (i > 0 or not token.reading.known)
