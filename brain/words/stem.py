"""The stem of an English word, so that a question in other forms still finds its answer.

M. F. Porter's algorithm of 1980 ("An algorithm for suffix stripping"), which SQLite's FTS5 index
applies as well: what the index matched is recognised when a hit is looked at again. The forms
that no suffix rule reaches ("went") are in `irregular`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

_VOWELS: Final = frozenset("aeiou")

_LONGEST: Final = 40
"""Letters. A longer "word" is a key or a hash, and has no stem."""

_CACHED: Final = 50_000
"""Words whose stem is remembered: about 10 MB, the vocabulary of a large store."""

_STEP_2: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip

_STEP_3: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip

_STEP_4: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=_CACHED)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; what is not English letters comes back as it is.

    >>> [stem(word) for word in ("marries", "hopping", "relational", "v2", "é")]
    ['marri', 'hop', 'relat', 'v2', 'é']
    """
    if not 2 < len(word) <= _LONGEST or not (word.isascii() and word.isalpha()):
        return word
    for step in _STEPS:
        word = step(word)
    return word


def _plurals(word: str) -> str:
    if (len(word) > 3 and word.endswith("ies")) or (len(word) > 4 and word.endswith("sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        body = word.removesuffix(suffix)
        if body != word:
            return _repaired(body) if _has_vowel(body) else word
    return word


def _repaired(body: str) -> str:
    """Give back what a past or progressive form took from its verb, or drop what it doubled."""
    if body.endswith(("at", "bl", "iz")):
        return body + "e"
    if _ends_doubled(body) and body[-1] not in "lsz":
        return body[:-1]
    return body + "e" if _measure(body) == 1 and _ends_short(body) else body


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _derivations(rules: Sequence[tuple[str, str]]) -> Callable[[str], str]:
    def step(word: str) -> str:
        for suffix, other in rules:
            if word.endswith(suffix):
                body = word[: -len(suffix)]
                return body + other if _measure(body) > 0 else word
        return word

    return step


def _bare(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            body = word[: -len(suffix)]
            if suffix == "ion" and not body.endswith(("s", "t")):
                return word
            return body if _measure(body) > 1 else word
    return word


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    body = word[:-1]
    measure = _measure(body)
    return body if measure > 1 or (measure == 1 and not _ends_short(body)) else word


def _final_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    _plurals,
    _past_and_progressive,
    _final_y,
    _derivations(_STEP_2),
    _derivations(_STEP_3),
    _bare,
    _final_e,
    _final_l,
)


def _is_vowel(word: str, at: int) -> bool:
    letter = word[at]
    if letter != "y":
        return letter in _VOWELS
    return at > 0 and not _is_vowel(word, at - 1)


def _measure(word: str) -> int:
    """Count the changes from vowel to consonant: Porter's m."""
    shape = [_is_vowel(word, at) for at in range(len(word))]
    return sum(one and not other for one, other in pairwise(shape))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, at) for at in range(len(word)))


def _ends_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _ends_short(word: str) -> bool:
    """Tell whether it ends consonant, vowel, consonant, the last one not w, x or y."""
    if len(word) < 3 or word[-1] in "wxy":
        return False
    last = len(word) - 1
    return not _is_vowel(word, last) and _is_vowel(word, last - 1) and not _is_vowel(word, last - 2)
