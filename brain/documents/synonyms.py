"""Words that say the same in documents: who asks for a weekend is answered by "Saturday".

`synonyms.txt` is general English of contracts, handbooks and manuals, written down from a
dictionary's point of view and not from any set of questions. A synonym counts less than the word
itself, so that it only helps where that is not to be found.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kds.brain.words.stems import stem

WORTH: Final = 0.5
"""What a synonym counts of the word that was asked for."""


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    for head, _, others in (line.partition(": ") for line in lines):
        known = found.get(stem(head), ())
        found[stem(head)] = tuple(dict.fromkeys((*known, *others.split())))
    return MappingProxyType(found)


SYNONYMS: Final = _by_stem()
"""Stem -> words that may stand for it."""


def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the words that may stand in a document for ``word``.

    >>> synonyms_of("weekends"), synonyms_of("purple")
    (('saturday', 'sunday', 'business'), ())
    """
    return SYNONYMS.get(stem(word.casefold()), ())
