"""Parts of speech for short technical English, by lexicon and rules (`grammar.yaml`).

Works in three passes over a sentence: function words and shapes, then the verbs that inverted
questions wait for, then open-class words from left to right. Made for imperatives, questions and
fragments of developer chat; not a general tagger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Final

from kds.router.english import English, table, words
from kds.router.language import closed_class as cc
from kds.router.language.grammar import Marks, grammar, verdict
from kds.router.language.lexicon import Reading, is_comparative, readings
from kds.router.language.shapes import shape

_ENDS: Final = frozenset(".!?;")
_NOMINAL: Final = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})
_PHRASE: Final = frozenset({"PRON", "NOUN", "PROPN"})
_ADJECTIVE_ENDINGS: Final = ("able", "ible", "ous", "ful", "less", "ish", "ive", "al", "ic")
_BASE_LIKE_PAST: Final = words("verbs", "base_like_past")
_AUX_LEMMAS: Final = {
    form: lemma for lemma, forms in table("auxiliaries").items() for form in forms
}
_JOINING: Final = cc.PARTICLES | {"do", "and", "&"}
_KNOWN_WORDS: Final = 8192


@dataclass(slots=True)
class Token:
    """A word being tagged: what it is as yet, and its marks for the rules."""

    lower: str
    kind: str
    reading: Reading
    marks: set[str]
    pos: str = ""
    penn: str = ""
    """Its Penn tag, of an open-class word that may be a verb form."""

    def decide(self, pos: str) -> None:
        """Give it its part of speech."""
        self.pos = pos
        self.marks -= {"OPEN", ".nominal", ".head"}
        self.marks.add(pos)

    def can(self, *marks: str) -> bool:
        """Whether it has one of these marks."""
        return not self.marks.isdisjoint(marks)


Tag = tuple[str, str, str]
"""Part of speech, Penn tag of a verb form (else ""), lemma."""


def tag(texts: Sequence[str], english: English) -> list[Tag]:
    """Tag the tokens of a text."""
    tokens = [_token(text, english) for text in texts]
    start = 0
    for i, token in enumerate(tokens):
        if token.lower in _ENDS or i == len(tokens) - 1:
            _tag_sentence(tokens[start : i + 1], english)
            start = i + 1
    return [(one.pos or "X", one.penn, _lemma(one)) for one in tokens]


def phrasal_nouns(texts: Sequence[str], english: English) -> Iterator[tuple[int, int]]:
    """Where each token begins, and of how many it is made: "sign up" of "a sign up form" is one."""
    may_be = [i for i, text in enumerate(texts[1:]) if text.lower() in _JOINING]
    known = [_looked_up(text, english) for text in texts] if may_be else []
    marks: list[Marks] = [one[3] for one in known]
    for i in may_be:
        lower, verb, after = known[i][0], known[i][2].verb, known[i + 1][0]
        if verb in english.particles.get(after, ()):
            marks[i + 1] |= {"PARTICLE", "JOINED"}
        if readings(lower + after).noun:
            marks[i + 1] |= {"NOUN"}
    sizes = {i: int(verdict(grammar().phrasal, marks, i) or 1) for i in may_be}
    i = 0
    while i < len(texts):
        yield i, sizes.get(i, 1)
        i += sizes.get(i, 1)


def _token(text: str, english: English) -> Token:
    lower, kind, reading, marks = _looked_up(text, english)
    return Token(lower, kind, reading, set(marks))


@lru_cache(maxsize=_KNOWN_WORDS)
def _looked_up(text: str, english: English) -> tuple[str, str, Reading, frozenset[str]]:
    """A word by itself: in lower case, its shape, its readings and what the rules may ask of it."""
    lower, kind = text.lower().replace("’", "'"), shape(text)
    known, usual = readings(lower), english.preferences
    base, ing = known.verb == lower, lower.endswith("ing")
    third = bool(known.verb) and lower.endswith("s") and not base
    gerund = ing and known.verb not in ("", lower)
    past = bool(known.verb) and not third and not gerund
    past = past and (not base or lower in _BASE_LIKE_PAST)
    nominal = bool(known.noun or known.adjective or not known.known or gerund or past)
    wordy = text[:1].isalnum()
    closed = grammar().closed.get(lower, "")
    listed = [
        name for name in ("verb_first", "noun_first", "adjective_first") if lower in usual[name]
    ]
    found = {
        **dict.fromkeys(listed, True),
        "noun": known.noun,
        "noun_base": known.noun == lower != "",
        "verb": known.verb,
        "adjective": known.adjective,
        "adverb": known.adverb,
        "noun_like": (known.noun and "verb_first" not in listed) or not known.known,
        "unknown": not known.known,
        "base": base,
        "third": third,
        "third_alone": third and not known.noun,
        "gerund": gerund,
        "past": past,
        "past_alone": past and not known.adjective,
        "verb_alone": known.verb and not (known.noun or known.adjective or gerund or base),
        "nominal": nominal,
        "head": nominal and (wordy or kind) and not (known.adverb and not known.noun),
        "rather_verb": listed and "verb_first" in listed and "noun_first" not in listed,
        "kind": kind,
        "closed": closed,
        closed or "open": True,
        "sign": not wordy,
        "capital": text[:1].isupper(),
        "upper": text.isupper(),
        "acronym": text.isupper() and len(text) > 1,
        "small": text.islower(),
        "letter": text == "A",
        "s": lower.endswith("s"),
        "plural": lower.endswith("s") and known.noun,
        "ly": lower.endswith("ly") and not lower.endswith("-only"),
        "like_adjective": lower.endswith(_ADJECTIVE_ENDINGS),
        "like_able": lower.endswith((*_ADJECTIVE_ENDINGS[:3], "less")),
        "made": _made(lower),
        "break": not any(map(str.isalnum, text)) and lower not in {'"', "'", "(", "-", "/"},
    }
    marks = {intern(f".{name}") for name, holds in found.items() if holds}
    return lower, kind, known, frozenset({*marks, lower, "OPEN", f"~{known.verb}"})


def _made(lower: str) -> bool:
    """ "narrower", "skippable", "right-aligned": what things become, and no lexicon has."""
    if "-" in lower:
        return lower.endswith("ed") or bool(readings(lower.split("-")[-1]).adjective)
    return lower.endswith(("able", "ible", "less")) or is_comparative(lower)


def _tag_sentence(sentence: list[Token], english: English) -> None:
    rules = grammar()
    marks = [token.marks for token in sentence]
    for i, token in enumerate(sentence):
        _find_particle(sentence, i, english)
        if pos := verdict(rules.shape, marks, i) or _by_shape(sentence, i):
            token.decide(pos)
        elif token.lower in rules.function:
            if pos := verdict(rules.function[token.lower], marks, i):
                token.decide(pos)
        elif pos := rules.closed.get(token.lower, ""):
            token.decide(pos)
    _force_verbs(sentence)
    seen = False
    for i, token in enumerate(sentence):
        if token.pos in {"PUNCT", "SCONJ"} or (i and token.lower in cc.WH):
            seen = False
        if not token.pos:
            if seen:
                token.marks.add("SEEN")
            token.decide(verdict(rules.open, marks, i, _behind(sentence, i)))
            token.penn = _penn(token)
        seen = seen or token.pos in {"VERB", "AUX"}


def _by_shape(sentence: list[Token], i: int) -> str:
    token = sentence[i]
    if token.kind:
        return "NUM" if token.kind == "number" else "PROPN"
    if not token.can(".sign") or any(map(str.isalnum, token.lower)):
        return ""
    owns = token.lower == "'" and i and sentence[i - 1].can(".s")
    return "PART" if owns else "CCONJ" if token.lower == "&" else "PUNCT"


def _find_particle(sentence: list[Token], i: int, english: English) -> None:
    """Mark a word that a verb before it may take: "turn it on"."""
    if verbs := english.particles.get(sentence[i].lower):
        for j in range(i - 1, max(-1, i - 5), -1):
            if sentence[j].reading.verb in verbs:
                sentence[i].marks |= {"PARTICLE", "JOINED"} if j == i - 1 else {"PARTICLE"}
            if sentence[j].can("PARTICLE", "PUNCT", "ADP") or sentence[i].can("PARTICLE"):
                return


def _behind(sentence: list[Token], i: int) -> int:
    """The word before word ``i`` but adverbs and negations; -1 at the start."""
    i -= 1
    while i >= 0 and sentence[i].can("ADV", "not", "n't"):
        i -= 1
    return i


def _force_verbs(sentence: list[Token]) -> None:
    """Mark the verb that each inverted auxiliary of the sentence waits for."""
    for i, token in enumerate(sentence):
        inverted = token.pos == "AUX" and token.lower in cc.DO | cc.MODALS
        asked = not cc.WH.isdisjoint(one.lower for one in sentence[max(0, i - 6) : i])
        opening = i - 1
        while opening > 0 and sentence[opening].can(".noun"):
            opening -= 1
        named = opening < i - 1 and sentence[opening].can("DET")
        subject = i > 0 and (named or sentence[i - 1].can(*_PHRASE))  # "the text should mention"
        if inverted and (asked or not subject):
            verb = _awaited_verb(sentence, i)
            if verb is not None:
                sentence[verb].marks.add("FORCED")
                sentence[verb].marks.discard(".head")


def _awaited_verb(sentence: list[Token], i: int) -> int | None:
    """The likeliest of the words behind an inverted auxiliary and its subject that may be verbs."""
    first = i + 1
    while first < len(sentence) and sentence[first].lower in _BETWEEN:
        first += 1
    found: list[int] = []
    for j in range(first + 1, len(sentence)):
        token, before = sentence[j], sentence[j - 1]
        if token.can("PUNCT", "SCONJ") or (found and token.pos == "ADP"):
            break
        if found and token.can("be", "have") and before.lower != "to":
            return None  # "can a payment or a debit be refunded": that is the verb
        named = token.can(".capital") and before.can(".capital")  # "the Battery Pack"
        may_be = token.can(".base") and not token.pos and not before.can("DET", "ADP")
        if token.pos == "VERB" or (may_be and not named):
            found.append(j)
        if sentence[first].pos == "PRON" and (found or token.pos not in _AFTER_PRONOUN):
            break
    rather = [j for j in found if sentence[j].can(".rather_verb") or not sentence[j].can(".noun")]
    likely = rather or [j for j in found if not sentence[j].can(".noun_first")] or found[-1:]
    return likely[0] if likely else None


_BETWEEN: Final = {"n't", "not"} | (cc.ADVERBS - {"there"})
_AFTER_PRONOUN: Final = frozenset({"ADV", "PART", "DET", ""})


def _penn(token: Token) -> str:
    if token.pos == "ADJ":
        return "VBG" if token.can(".gerund") else "VBN" if token.can(".past") else ""
    if token.pos != "VERB":
        return ""
    if token.can(".gerund") or (token.lower.endswith("ing") and not token.can(".base")):
        return "VBG"
    if token.can(".third"):
        return "VBZ"
    return "VB" if token.can(".base", ".unknown") else "VBN"


def _lemma(token: Token) -> str:
    if token.pos in {"VERB", "AUX"}:
        return token.reading.verb or _AUX_LEMMAS.get(token.lower, token.lower)
    if token.pos == "NOUN":
        return token.reading.noun or token.lower
    if token.pos == "ADJ":
        return token.reading.adjective or token.lower
    return token.lower
