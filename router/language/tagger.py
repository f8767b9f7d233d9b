"""Parts of speech for short technical English, by lexicon and hand rules.

Works in three passes over a sentence: function words and shapes, then the verbs that
inverted questions demand, then open-class words from left to right with one word of
look-ahead. Made for imperatives, questions and fragments of developer chat; not a general
tagger. When the user names an installed spaCy model, that model's tags are used instead.
"""

from collections.abc import Sequence
from typing import Final

from kds.router.english import English, table
from kds.router.language import closed_class as cc
from kds.router.language.function_words import AMBIGUOUS, closed_pos
from kds.router.language.open_class import (
    after_be,
    after_object,
    at_clause_start,
    bare,
    force_asked_verb,
    force_inverted_verbs,
    in_phrase,
    is_name,
    opens_clause,
    skip_adverbs,
    subject_before,
    verb_expected,
)
from kds.router.language.tokens import Draft, Sentence, draft

_ENDS: Final = frozenset(".!?;")


_AUX_LEMMAS: Final = {
    form: lemma for lemma, forms in table("auxiliaries").items() for form in forms
}


def tag(texts: Sequence[str], english: English) -> list[tuple[str, str, str, str]]:
    """Tag tokens: returns (part of speech, Penn tag or "", lemma, kind of shape) for each."""
    drafts = [draft(text, english) for text in texts]
    start = 0
    for i, token in enumerate(drafts):
        if token.lower in _ENDS or "\n" in token.text or i == len(drafts) - 1:
            _tag_sentence(Sentence(drafts[start : i + 1], english))
            start = i + 1
    return [(d.pos, d.tag, _lemma(d), d.kind) for d in drafts]


def _tag_sentence(sentence: Sentence) -> None:
    for i in range(len(sentence.drafts)):
        _close(sentence, i)
    force_inverted_verbs(sentence)
    force_asked_verb(sentence)
    verb_seen = False
    for i, token in enumerate(sentence.drafts):
        if token.pos in {"PUNCT", "SCONJ"} or (token.pos == "CCONJ" and verb_seen):
            verb_seen = verb_seen and token.pos != "PUNCT" and token.pos != "SCONJ"
        if not token.pos:
            _open(sentence, i, verb_seen)
        if token.pos in {"VERB", "AUX"}:
            verb_seen = True


def _close(s: Sentence, i: int) -> None:
    token = s.drafts[i]
    if (_acronym(token) and token.lower in cc.PERSONAL) or (token.text == "A" and _labels(s, i)):
        token.pos = "PROPN"
    elif token.kind:
        token.pos = "NUM" if token.kind == "number" else "PROPN"
    elif not any(ch.isalnum() for ch in token.text):
        token.pos = "CCONJ" if token.text == "&" else "PUNCT" if token.text.strip() else "SPACE"
        if token.text and token.text[0] in "'’" and len(token.text) == 1:
            token.pos = "PART" if s.lower(i - 1).endswith("s") else "PUNCT"
    elif rule := AMBIGUOUS.get(token.lower):
        token.pos = rule(s, i)
    else:
        token.pos = closed_pos(token.lower)
        if token.pos == "ADP" and token.text[:1].isupper() and s.lower(i - 1) in cc.ARTICLES:
            token.pos = "PROPN"  # "the Via header"


def _labels(s: Sentence, i: int) -> bool:
    """ "zone A", "the Class A notes": a letter after a noun is not an article."""
    before = s.at(i - 1)
    return (
        before is not None
        and bool(before.reading.noun)
        and not before.text.isupper()
        and not before.verb_first
    )


def _acronym(token: Draft) -> bool:
    """US, IT: not the pronouns."""
    return len(token.text) > 1 and token.text.isupper()


def _open(s: Sentence, i: int, verb_seen: bool) -> None:
    token = s.drafts[i]
    token.pos = _choose(s, i, verb_seen)
    if token.pos == "VERB":
        token.tag = _verb_tag(token)
    elif token.pos == "ADJ" and (token.gerund or token.past):
        token.tag = "VBG" if token.gerund else "VBN"


def _verb_tag(token: Draft) -> str:
    if token.gerund or (token.lower.endswith("ing") and not token.base):
        return "VBG"
    if token.third:
        return "VBZ"
    return "VB" if token.base or not token.reading.known else "VBN"


def _choose(s: Sentence, i: int, verb_seen: bool) -> str:
    """The part of speech of an open-class word, by the first of these that is sure."""
    token = s.drafts[i]
    if token.forced:
        return token.forced
    if verdict := _by_shape(s, i):
        return verdict
    if verb_expected(s, i) and (token.base or not token.reading.known):
        return "VERB"
    if opens_clause(s, i) and (verdict := at_clause_start(s, i, verb_seen)):
        return verdict
    if verdict := _behind_pronoun_or_verb(s, i, verb_seen):
        return verdict
    if s.pos(i - 1) in {"DET", "ADJ", "NUM", "NOUN", "PROPN", "PART"}:
        return in_phrase(s, i, verb_seen)
    return bare(s, i, verb_seen)


def _by_shape(s: Sentence, i: int) -> str:
    token = s.drafts[i]
    if s.lower(i - 1) == "how" and (token.reading.adjective or token.reading.adverb):
        return "ADJ"
    capital = is_name(token, i) and i > 0 and not token.text.isupper()
    return "PROPN" if capital and s.pos(i - 1) not in {"PUNCT", "INTJ"} else ""


def _behind_pronoun_or_verb(s: Sentence, i: int, verb_seen: bool) -> str:
    token = s.drafts[i]
    j = skip_adverbs(s, i)
    before = s.pos(j)
    if before == "PRON" and token.reading.verb:
        which_one = s.lower(i - 1) == "one" and s.lower(i - 2) in {"which", "what"}
        if subject_before(s, i, verb_seen):
            return after_be(s, i) if s.lower(j - 1) in cc.BE else "VERB"
        if which_one:
            return "VERB"
    copula = before == "VERB" and _lemma(s.drafts[j]) in cc.COPULAS - {"go", "keep"}
    if before == "AUX" or copula:
        return after_be(s, i)
    return after_object(s, i) if before == "PRON" and verb_seen else ""


def _lemma(token: Draft) -> str:
    if token.pos in {"VERB", "AUX"}:
        return token.reading.verb or _AUX_LEMMAS.get(token.lower, token.lower)
    if token.pos == "NOUN":
        return token.reading.noun or token.lower
    if token.pos == "ADJ":
        return token.reading.adjective or token.lower
    return token.lower
