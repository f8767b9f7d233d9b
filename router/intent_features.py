"""TF-IDF features of a message: stemmed words and pairs of words, and pieces of words.

Our own few lines instead of scikit-learn's vectorizer, because routing a message must not
import scikit-learn (1.1 s of CPU). The tests hold both to the same numbers, to 1e-9.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_CHARS: Final = 2000
"""What a message wants stands near its start or its end; a pasted log between them does not
say it. Longer texts are cut to their first three and their last quarter of this length."""

CHAR_SIZES: Final = range(2, 6)
"""Lengths of the pieces of words (DESIGN 4)."""

_TOKEN: Final = re.compile(r"\w+|[?!]")
_SPACES: Final = re.compile(r"\s\s+")
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))


def readable(text: str) -> str:
    """The part of a message that is worth reading: without code blocks, and not too long."""
    prose = _FENCED.sub(" ", text)
    text = prose if prose.strip() else text
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS * 3 // 4]} {text[-MAX_CHARS // 4 :]}"


def stem(word: str) -> str:
    """Take off the endings of English inflection; rough on purpose, and without a lexicon.

    >>> [stem(word) for word in ("tests", "testing", "stopped", "queries", "use", "less")]
    ['test', 'test', 'stop', 'query', 'use', 'less']
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


def word_terms(text: str) -> list[str]:
    """Stems, and pairs of neighbours; the ends of the text count as neighbours.

    >>> word_terms("Run tests!")
    ['run', 'test', '!', '<s> run', 'run test', 'test !', '! </s>']
    """
    plain = text.lower().replace("'", "").replace("\u2019", "")
    stems = [stem(word) for word in _TOKEN.findall(plain)]
    pairs = zip(["<s>", *stems], [*stems, "</s>"], strict=True)
    return stems + [f"{left} {right}" for left, right in pairs]


def char_terms(text: str) -> list[str]:
    """Pieces of two to five characters, within words and with the space on either side.

    >>> char_terms("ok")
    [' o', 'ok', 'k ', ' ok', 'ok ', ' ok ']
    """
    pieces = []
    for word in _SPACES.sub(" ", text.lower()).split():
        padded = f" {word} "
        for size in CHAR_SIZES:
            if size >= len(padded):
                pieces.append(padded)
                break
            pieces += [padded[at : at + size] for at in range(len(padded) - size + 1)]
    return pieces


ANALYZERS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "words": word_terms,
    "chars": char_terms,
}


@dataclass(frozen=True, slots=True)
class Vector:
    """A sparse vector; ``unknown`` is the share of the words that no example has."""

    ids: Ints
    values: Floats
    unknown: float


@dataclass(frozen=True, slots=True)
class Block:
    """The terms of one analyzer, and how rare each of them is."""

    analyzer: str
    vocabulary: Mapping[str, int]
    idf: Floats

    @classmethod
    def fit(cls, analyzer: str, texts: Sequence[str]) -> "Block":
        """Terms in alphabetical order, so that a fit is the same every time."""
        analyze = ANALYZERS[analyzer]
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(set(analyze(text)))
        vocabulary = {term: index for index, term in enumerate(sorted(counts))}
        rarity = [math.log((1 + len(texts)) / (1 + counts[term])) + 1.0 for term in vocabulary]
        return cls(analyzer, vocabulary, np.array(rarity))

    def vector(self, text: str) -> Vector:
        """Sublinear counts times rarity, of length one (or zero, when nothing is known)."""
        counts = Counter(ANALYZERS[self.analyzer](text))
        vocabulary = self.vocabulary
        known = {
            index: count
            for term, count in counts.items()
            if (index := vocabulary.get(term)) is not None
        }
        ids = np.fromiter(known.keys(), dtype=np.int64, count=len(known))
        tf = np.fromiter(known.values(), dtype=np.float64, count=len(known))
        values = (1.0 + np.log(tf)) * self.idf[ids]
        norm = float(np.sqrt(values @ values))
        singles = [term for term in counts if " " not in term.strip()]
        known_singles = sum(term in vocabulary for term in singles)
        unknown = 1.0 - known_singles / len(singles) if singles else 1.0
        return Vector(ids, values / norm if norm else values, unknown)


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """Both blocks side by side, with equal weight; a vector has length one."""

    words: Block
    chars: Block

    @classmethod
    def fit(cls, texts: Sequence[str]) -> "FeatureSpace":
        """Learn the terms of ``texts`` and how rare they are."""
        return cls(Block.fit("words", texts), Block.fit("chars", texts))

    @property
    def size(self) -> int:
        """Number of terms."""
        return len(self.words.vocabulary) + len(self.chars.vocabulary)

    def vector(self, text: str) -> Vector:
        """The vector of a message; ``unknown`` is counted over words alone."""
        words, chars = self.words.vector(text), self.chars.vector(text)
        ids = np.concatenate([words.ids, chars.ids + len(self.words.vocabulary)])
        values = np.concatenate([words.values, chars.values]) / math.sqrt(2.0)
        return Vector(ids, values, words.unknown)
