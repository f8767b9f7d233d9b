"""lemminflect's tables of word forms, looked up where they lie: no dictionary is built of them.

lemminflect itself reads its 121,000 lines into one (0.5 s of CPU) at the first word. The files are
sorted by word, so that a binary search will do; unpacking one takes 15 ms. Formats, as of
lemminflect 0.2.3, a line: ``form,category,lemma[/other spelling]`` for lemmas and, for
inflections, ``lemma,noun,plural`` and ``lemma,verb,past,participle,-ing form,third person``.
"""

import gzip
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError

_LEMMAS: Final = "lemma_lu.csv.gz"
_INFLECTIONS: Final = "infl_lu.csv.gz"
_OVERRIDES: Final = "lemma_overrides.csv"

Lemmas = dict[str, tuple[str, ...]]
"""Spellings of the lemma by part of speech (Universal Dependencies)."""


def lemmas(lower: str) -> Lemmas:
    """The lemmas of a lower-case word, as ``lemminflect.getAllLemmas`` has them.

    Raises KdsError when lemminflect is not there.

    >>> lemmas("tests")
    {'NOUN': ('test',), 'VERB': ('test',)}
    >>> lemmas("frobnicate")
    {}
    """
    found: Lemmas = {}
    for category, spellings in _entries(_LEMMAS, lower):
        found[category.upper()] = tuple(spellings.split("/"))
    return found | _overrides().get(lower, {})


def inflections(lemma: str, category: str) -> tuple[str, ...]:
    """The forms of a "noun" (its plural) or "verb" (past, participle, -ing form, third person).

    Of several spellings the first one; nothing for a word that is not in the table.
    Raises KdsError when lemminflect is not there.

    >>> inflections("query", "noun"), inflections("debug", "verb")
    (('queries',), ('debugged', '', 'debugging', 'debugs'))
    >>> inflections("frobnicate", "verb")
    ()
    """
    for name, *forms in _entries(_INFLECTIONS, lemma):
        if name == category:
            return tuple(form.partition("/")[0] for form in forms)
    return ()


def _entries(table: str, lower: str) -> Iterator[list[str]]:
    """What the lines of a word have behind it."""
    text, word = _text(table), lower.encode()

    def word_at(place: int) -> bytes:
        """The word of the line that a place is in."""
        start = text.rfind(b"\n", 0, place) + 1
        return text[start : text.index(b",", start)]

    place = bisect_left(range(len(text)), word, key=word_at)
    while text.startswith(word + b",", place):
        end = text.index(b"\n", place)
        yield text[place:end].decode().lower().split(",")[1:]
        place = end + 1


@lru_cache(maxsize=2)
def _text(table: str) -> bytes:
    return gzip.decompress(_resource(table).read_bytes())


@lru_cache(maxsize=1)
def _overrides() -> Mapping[str, Lemmas]:
    """What lemminflect puts over its table: ``word,part of speech,lemma`` a line, # a comment."""
    found: dict[str, Lemmas] = {}
    for line in _resource(_OVERRIDES).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            word, part, lemma = line.strip().split(",")
            found.setdefault(word, {})[part] = (lemma,)
    return found


def _resource(name: str) -> Path:
    """A file of lemminflect's, found without importing it: that would import spaCy."""
    spec = find_spec("lemminflect")
    if spec is None or spec.origin is None:
        raise KdsError("lemminflect is not installed", hint="install KDS anew")
    return Path(spec.origin).parent / "resources" / name


_THIRD: Final = {"be": "is"}
_GERUND, _THIRD_PERSON = 2, 3
_VOWELS: Final = frozenset("aeiou")
_HISSING: Final = ("s", "x", "z", "ch", "sh")


def third_person(verb: str) -> str:
    """The form of a lower-case verb behind he, she and it.

    >>> [third_person(v) for v in ("resign", "pay", "notify", "do", "miss", "have", "be")]
    ['resigns', 'pays', 'notifies', 'does', 'misses', 'has', 'is']
    """
    forms = inflections(verb, "verb")
    return _THIRD.get(verb) or (forms[_THIRD_PERSON] if forms else with_s(verb))


def plural(noun: str) -> str:
    """The plural of a noun. Names, and what lemminflect says has none, get the regular one.

    >>> [plural(n) for n in ("query", "branch", "child", "analysis", "mock", "webhook", "API")]
    ['queries', 'branches', 'children', 'analyses', 'mocks', 'webhooks', 'APIs']
    """
    known = next(iter(inflections(noun, "noun")), noun)
    return known if known != noun else with_s(noun)


def gerund(verb: str) -> str:
    """The -ing form of a lower-case verb.

    >>> [gerund(v) for v in ("purchase", "debug", "put", "submit", "see", "die", "offer", "be")]
    ['purchasing', 'debugging', 'putting', 'submitting', 'seeing', 'dying', 'offering', 'being']
    >>> [gerund(v) for v in ("refactor", "rebase", "grep")]
    ['refactoring', 'rebasing', 'grepping']
    """
    if forms := inflections(verb, "verb"):
        return forms[_GERUND]
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + verb[-1] * _doubles(verb) + "ing"


def with_s(word: str) -> str:
    """The regular ending of plurals and of the third person, which are spelled alike."""
    if word.endswith(_HISSING):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _doubles(verb: str) -> bool:
    """ "grep": a single vowel before the last consonant, and no other one."""
    before_last = verb[-2:-1] in _VOWELS and verb[-1] not in _VOWELS | frozenset("wxyh")
    return before_last and sum(letter in _VOWELS for letter in verb) == 1


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
    form = forms[plural]
    return form.capitalize() if auxiliary[:1].isupper() else form
