"""lemminflect's table of word forms, looked up where it lies: no dictionary is built of it.

lemminflect itself reads its 80,676 lines into one (0.35 s of CPU) at the first word. The file is
sorted by word, so that a binary search will do; unpacking it takes 15 ms. Format, as of
lemminflect 0.2.3: ``word,category,lemma[/other spelling]`` a line.
"""

import gzip
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError

_TABLE: Final = "lemma_lu.csv.gz"
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
    lines, word = _lines(), lower.encode()
    first = bisect_left(lines, word, key=_word)
    found: Lemmas = {}
    for line in takewhile(lambda line: _word(line) == word, lines[first : first + _MOST]):
        _, category, spellings = line.decode().lower().split(",")
        found[category.upper()] = tuple(spellings.split("/"))
    return found | _overrides().get(lower, {})


_MOST: Final = 5
"""Lines of one word at most: one for each category (adj, adv, aux, noun, verb)."""


def _word(line: bytes) -> bytes:
    return line[: line.index(b",")]


@lru_cache(maxsize=1)
def _lines() -> list[bytes]:
    return gzip.decompress(_resource(_TABLE).read_bytes()).splitlines()


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
