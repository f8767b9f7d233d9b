"""Which parts of speech a word can have, and its lemma: lemminflect's tables.

lemminflect (MIT, 0.8 MB) lists the forms of the SPECIALIST lexicon; it knows no frequencies,
so `english/preferences.yaml` says for the words that developer chat uses ambiguously which reading
is the usual one. Only the look-up tables are used, never lemminflect's guesser for unknown words.
Developer words that it lacks stand in `english/jargon.yaml` in their base forms; the others follow
the regular spelling of English.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from kds.router.english import English, words
from kds.router.language.word_forms import lemmas, with_s

_DOUBLING: Final = words("jargon", "doubling")


@dataclass(frozen=True, slots=True)
class Reading:
    """The readings of a word form: lemma per part of speech; empty when unknown."""

    noun: str = ""
    verb: str = ""
    adjective: str = ""
    adverb: str = ""

    @property
    def known(self) -> bool:
        """True when the lexicon has the word at all."""
        return bool(self.noun or self.verb or self.adjective or self.adverb)


@lru_cache(maxsize=8192)
def readings(lower: str) -> Reading:
    """Every reading of a lower-case word form.

    >>> readings("tests")
    Reading(noun='test', verb='test', adjective='', adverb='')
    >>> readings("frobnicate").known
    False
    """
    known = lemmas(lower) if lower.isascii() and lower.isalpha() else {}
    first = {pos: found[0] for pos, found in known.items() if found} | forms().get(lower, {})
    return Reading(
        noun=first.get("NOUN", "") or first.get("PROPN", ""),
        verb=first.get("VERB", "") or first.get("AUX", ""),
        adjective=first.get("ADJ", ""),
        adverb=first.get("ADV", ""),
    )


def is_comparative(lower: str) -> bool:
    """True for "wider" and "lazier", whether the lexicon has the form or not.

    >>> [is_comparative(word) for word in ("darker", "snappier", "better", "other", "user")]
    [True, True, True, False, False]
    """
    known = readings(lower)
    if known.adjective:
        return known.adjective != lower and not lower.endswith("est")
    if not lower.endswith("er") or known.noun or known.verb:
        return False
    stems = (lower[:-2], lower[:-1], lower[:-3], f"{lower[:-3]}y")
    return any(readings(stem).adjective for stem in stems)


def singular(noun: str) -> str:
    """The singular of a noun form, by the lexicon, else by its ending.

    >>> singular("tests"), singular("queries"), singular("status")
    ('test', 'query', 'status')
    """
    known = readings(noun.lower()).noun
    if known:
        return noun if known == noun.lower() else known
    lower = noun.lower()
    if lower.endswith("ies") and len(lower) > 4:
        return noun[:-3] + "y"
    if lower.endswith(("ches", "shes", "xes", "sses", "zes")):
        return noun[:-2]
    if lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
        return noun[:-1]
    return noun


def is_plural(noun: str, english: English) -> bool:
    """True when the noun form is a plural.

    >>> from kds.router.english import load_english
    >>> [is_plural(noun, load_english()) for noun in ("endpoints", "status", "people", "CSS")]
    [True, False, True, False]
    """
    lower = noun.lower()
    if lower in {"people", "children", "data", "men", "women", "criteria", "indices", "media"}:
        return lower != "data"
    if noun.isupper() or lower in english.preferences["singular_s"]:
        return False
    return singular(lower) != lower


@cache
def forms() -> dict[str, dict[str, str]]:
    """Every form of the listed words: form -> {part of speech -> base form}."""
    table: dict[str, dict[str, str]] = {}
    for pos, name, inflect in (
        ("NOUN", "nouns", _noun_forms),
        ("VERB", "verbs", _verb_forms),
        ("ADJ", "adjectives", _same),
    ):
        for base in sorted(words("jargon", name)):
            for form in inflect(base):
                table.setdefault(form, {}).setdefault(pos, base)
    return table


def _same(base: str) -> Iterator[str]:
    yield base


def _noun_forms(base: str) -> Iterator[str]:
    yield base
    yield with_s(base)


def _verb_forms(base: str) -> Iterator[str]:
    stem = base[:-1] if base.endswith("e") else base + base[-1] * (base in _DOUBLING)
    yield from (base, with_s(base), stem + "ing")
    yield base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else stem + "ed"
