"""Which parts of speech a word can have, its lemma and its other forms: lemminflect's tables.

lemminflect (MIT) lists the forms of the SPECIALIST lexicon; it knows no frequencies, so
`english/preferences.yaml` says for the words that developer chat uses ambiguously which reading is
the usual one. Developer words that it lacks stand in `english/jargon.yaml` in their base forms; the
others follow the regular spelling of English.

lemminflect itself reads its 121,000 lines into a dictionary (0.5 s of CPU) at the first word. Its
files are sorted by word, so that a binary search will do; unpacking one takes 15 ms. Formats, as
of lemminflect 0.2.3, a line: ``form,category,lemma[/other spelling]`` for lemmas and, for
inflections, ``lemma,noun,plural`` and ``lemma,verb,past,participle,-ing form,third person``.
"""

import gzip
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError
from kds.router.english import English, load_english, words

_VOWELS: Final = frozenset("aeiou")
_HISSING: Final = ("s", "x", "z", "ch", "sh")
_DOUBLING: Final = words("jargon", "doubling")

Lemmas = dict[str, tuple[str, ...]]
"""Spellings of the lemma by part of speech (Universal Dependencies)."""


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


AGAIN: Final = "re-"
"""What makes a verb of a verb: "re-render"."""


@lru_cache(maxsize=8192)
def readings(lower: str) -> Reading:
    """Every reading of a lower-case word form. Raises KdsError when lemminflect is not there.

    >>> readings("tests")
    Reading(noun='test', verb='test', adjective='', adverb='')
    >>> readings("frobnicate").known, readings("re-renders").verb
    (False, 're-render')
    """
    once = lower.removeprefix(AGAIN)
    if once not in {lower, ""} and not once.startswith(AGAIN):
        found = readings(once)
        if found.verb:
            return Reading(verb=f"{AGAIN}{found.verb}", noun=found.noun and f"{AGAIN}{found.noun}")
    known = lemmas(lower) if lower.isascii() and lower.isalpha() else {}
    first = {pos: found[0] for pos, found in known.items() if found} | forms().get(lower, {})
    return Reading(
        noun=first.get("NOUN", "") or first.get("PROPN", ""),
        verb=first.get("VERB", "") or first.get("AUX", ""),
        adjective=first.get("ADJ", ""),
        adverb=first.get("ADV", ""),
    )


def is_listed(lower: str) -> bool:
    """Whether the lexicon has a lower-case word; cheaper than `readings`, and keeps nothing.

    >>> is_listed("tests"), is_listed("frobnicate")
    (True, False)
    """
    if not (lower.isascii() and lower.isalpha()):
        return False
    return lower in forms() or lower in _overrides() or any(_entries("lemma_lu.csv.gz", lower))


def lemmas(lower: str) -> Lemmas:
    """The lemmas of a lower-case word, as ``lemminflect.getAllLemmas`` has them.

    >>> lemmas("tests"), lemmas("frobnicate")
    ({'NOUN': ('test',), 'VERB': ('test',)}, {})
    """
    found: Lemmas = {}
    for category, spellings in _entries("lemma_lu.csv.gz", lower):
        found[category.upper()] = tuple(spellings.split("/"))
    return found | _overrides().get(lower, {})


def inflections(lemma: str, category: str) -> tuple[str, ...]:
    """The forms of a "noun" (its plural) or "verb" (past, participle, -ing form, third person).

    Of several spellings the first one; nothing for a word that is not in the table.

    >>> inflections("query", "noun"), inflections("debug", "verb"), inflections("xyzzy", "noun")
    (('queries',), ('debugged', '', 'debugging', 'debugs'), ())
    """
    for name, *found in _entries("infl_lu.csv.gz", lemma):
        if name == category:
            return tuple(form.partition("/")[0] for form in found)
    return ()


def _entries(table: str, lower: str) -> Iterator[list[str]]:
    """What the lines of a word have behind it."""
    text, word = _text(table), lower.encode()
    first, last = _lines_of(table, word[:3])
    place = 0 if first == 0 else text.find(b"\n" + word + b",", first - 1, last) + 1
    while text.startswith(word + b",", place):
        end = text.index(b"\n", place)
        yield text[place:end].decode().lower().split(",")[1:]
        place = end + 1


@lru_cache(maxsize=8192)
def _lines_of(table: str, start: bytes) -> tuple[int, int]:
    """From where to where the words that begin so stand in a table, which is sorted."""
    text = _text(table)

    def word_at(place: int) -> bytes:
        """The word of the line that a place is in."""
        begin = text.rfind(b"\n", 0, place) + 1
        return text[begin : text.index(b",", begin)]

    places = range(len(text))
    return (
        bisect_left(places, start, key=word_at),
        bisect_left(places, start + b"\xff", key=word_at),
    )


@lru_cache(maxsize=2)
def _text(table: str) -> bytes:
    return gzip.decompress(_resource(table).read_bytes())


@cache
def _overrides() -> Mapping[str, Lemmas]:
    """What lemminflect puts over its table: ``word,part of speech,lemma`` a line, # a comment."""
    found: dict[str, Lemmas] = {}
    for line in _resource("lemma_overrides.csv").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            word, part, lemma = line.strip().split(",")
            found.setdefault(word, {})[part] = (lemma,)
    return found


def _resource(name: str) -> Path:
    """A file of lemminflect's, found without importing it."""
    spec = find_spec("lemminflect")
    if spec is None or spec.origin is None:
        raise KdsError("lemminflect is not installed", hint="install KDS anew")
    return Path(spec.origin).parent / "resources" / name


@cache
def forms() -> dict[str, dict[str, str]]:
    """Every form of the words of `jargon.yaml`: form -> {part of speech -> base form}."""
    table: dict[str, dict[str, str]] = {}
    for pos, name in (("NOUN", "nouns"), ("VERB", "verbs"), ("ADJ", "adjectives")):
        for base in sorted(words("jargon", name)):
            for form in (base, *_regular(base, pos)):
                table.setdefault(form, {}).setdefault(pos, base)
    return table


def _regular(base: str, pos: str) -> Iterator[str]:
    if pos != "ADJ":
        yield with_s(base)
    if pos == "VERB":
        stem = base[:-1] if base.endswith("e") else base + base[-1] * (base in _DOUBLING)
        yield stem + "ing"
        yield base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else stem + "ed"


def is_comparative(lower: str) -> bool:
    """True for "wider" and "lazier", whether the lexicon has the form or not.

    >>> [is_comparative(word) for word in ("darker", "snappier", "better", "other", "user")]
    [True, True, True, False, False]
    """
    known = readings(lower)
    if known.adjective:
        return known.adjective != lower and not lower.endswith("est")
    stems = (lower[:-2], lower[:-1], lower[:-3], f"{lower[:-3]}y") * lower.endswith("er")
    return not (known.noun or known.verb) and any(readings(stem).adjective for stem in stems)


def singular(noun: str) -> str:
    """The singular of a noun form, by the lexicon, else by its ending.

    >>> singular("tests"), singular("queries"), singular("status")
    ('test', 'query', 'status')
    """
    lower = noun.lower()
    if known := readings(lower).noun:
        return noun if known == lower else known
    if lower.endswith("ies") and len(lower) > 4:
        return noun[:-3] + "y"
    if lower.endswith(("ches", "shes", "xes", "sses", "zes")):
        return noun[:-2]
    return noun[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "is")) else noun


def is_plural(noun: str, english: English) -> bool:
    """True when the noun form is a plural.

    >>> [is_plural(noun, load_english()) for noun in ("endpoints", "status", "people", "CSS")]
    [True, False, True, False]
    """
    lower = noun.lower()
    if noun.isupper() or lower in english.preferences["singular_s"]:
        return False
    return lower == "people" or singular(lower) != lower


def with_plurals(term: str) -> tuple[str, ...]:
    """The term and its regular plural.

    >>> with_plurals("dialog box"), with_plurals("query")
    (('dialog box', 'dialog boxes'), ('query', 'queries'))
    """
    last = term.split()[-1]
    if is_plural(last, load_english()) or not last.isalpha():
        return (term,)
    return (term, term[: len(term) - len(last)] + with_s(last))


def third_person(verb: str) -> str:
    """The form of a lower-case verb behind he, she and it.

    >>> [third_person(v) for v in ("resign", "pay", "notify", "do", "miss", "have", "be")]
    ['resigns', 'pays', 'notifies', 'does', 'misses', 'has', 'is']
    """
    return "is" if verb == "be" else (inflections(verb, "verb") or (with_s(verb),))[-1]


def plural(noun: str) -> str:
    """The plural of a noun. Names, and what lemminflect says has none, get the regular one.

    >>> [plural(n) for n in ("query", "branch", "child", "analysis", "mock", "webhook", "API")]
    ['queries', 'branches', 'children', 'analyses', 'mocks', 'webhooks', 'APIs']
    """
    known = next(iter(inflections(noun, "noun")), noun)
    return known if known != noun else with_s(noun)


def gerund(verb: str) -> str:
    """The -ing form of a lower-case verb.

    >>> [gerund(v) for v in ("purchase", "debug", "put", "see", "die", "be", "rebase", "grep")]
    ['purchasing', 'debugging', 'putting', 'seeing', 'dying', 'being', 'rebasing', 'grepping']
    """
    if found := inflections(verb, "verb"):
        return found[2]
    if verb.endswith("e") and len(verb) > 2 and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    one_vowel = sum(letter in _VOWELS for letter in verb) == 1
    doubled = one_vowel and verb[-2:-1] in _VOWELS and verb[-1] not in "aeiouwxyh"
    return verb + verb[-1] * doubled + "ing"


def with_s(word: str) -> str:
    """The regular ending of plurals and of the third person, which are spelled alike."""
    if word.endswith(_HISSING):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


_PAIRS: Final = (("does", "do"), ("is", "are"), ("has", "have"), ("was", "were"))
AGREEING: Final = {form: pair for pair in _PAIRS for form in pair} | {"am": ("is", "are")}
"""Finite auxiliaries that agree with their subject: singular, plural."""


def agreeing(auxiliary: str, *, plural: bool) -> str:
    """The auxiliary in the number of another subject, its capital kept.

    >>> agreeing("Does", plural=True), agreeing("may", plural=True), agreeing("are", plural=False)
    ('Do', 'may', 'is')
    """
    forms = AGREEING.get(auxiliary.lower())
    if forms is None:
        return auxiliary
    return forms[plural].capitalize() if auxiliary[:1].isupper() else forms[plural]
