"""What a message looks like to the linear models: hashed words and pieces of words, its meaning as
the encoder has it, and the signs of the turn.

Terms are hashed (with a sign, so that collisions cancel out): no vocabulary is learned, and fitted
weights do not give away what was typed.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np

from kds.brain.encoder import DIMENSIONS, shared_encoder
from kds.router.intents.linear import Floats, Ints, Matrix

WORD_PLACES: Final = 2048
"""Places that terms are hashed to. With 1,024 and 8,192 the joint model is as good on CLINC150 with
ten examples an intent; words alone are 2 points worse, and 2 better."""

ENCODER_WEIGHT: Final = 1.5
"""Length of the encoder's vector beside that of the words. From 1 to 2 within noise of each other
(CLINC150, ten examples)."""

WIDTH: Final = WORD_PLACES + DIMENSIONS

MAX_CHARS: Final = 1200
"""What a message wants stands near its start or its end; a pasted log between them does not
say it. Longer texts are cut to their first three and their last quarter of this length."""

ENCODED_CHARS: Final = 240
"""Characters that the encoder reads, 75 word pieces at most. With 400 the dev chats came out no
better, and it took a quarter more."""

KIND_WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0, "neighbours": 0.7, "pieces": 1.3,
}  # fmt: skip
"""Chosen on CLINC150 and Banking77 with five and ten examples an intent, beside the encoder: pairs
of words and groups of synonyms change nothing there."""

PIECE_SIZES: Final = range(2, 6)
KEPT_WORDS: Final = 1024
"""Words whose stem and pieces are kept: most of a message stood in the ones before it."""

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TOKEN: Final = re.compile(r"\w+|[?!]")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_NUMBER: Final = "#"
_SHORT_FORMS: Final[Mapping[str, list[str]]] = {
    short: full
    for short, *full in map(
        str.split,
        "whats what is|wheres where is|whos who is|hows how is|thats that is|theres there is"
        "|im i am|ive i have|youre you are|youve you have|lets let us|arent are not|isnt is not"
        "|wasnt was not|dont do not|doesnt does not|didnt did not|cant can not|couldnt could not"
        "|shouldnt should not|wouldnt would not|wont will not|hasnt has not|havent have not"
        "|hadnt had not".split("|"),
    )
}


def readable(text: str, limit: int = MAX_CHARS) -> str:
    """The part of a message that is worth reading: without code blocks, and not too long."""
    prose = _FENCED.sub(" ", text)
    text = prose if prose.strip() else text
    if len(text) <= limit:
        return text
    return f"{text[: limit * 3 // 4]} {text[-limit // 4 :]}"


def vectors(texts: Sequence[str], within: str = "") -> Matrix:
    """One row a text: its words, of length one, then its meaning where there is an encoder.

    What is part of ``within``, as far as that is read, means what it means there.
    """
    found = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for row, text in enumerate(texts):
        ids, values = hashed(terms(text), KIND_WEIGHTS, WORD_PLACES)
        found[row, ids] = values / max(float(np.linalg.norm(values)), 1e-9)
    found[:, WORD_PLACES:] = meanings(texts, within)
    return found


def meanings(texts: Sequence[str], within: str = "") -> Matrix:
    """The encoder's vectors of the starts and ends of texts; zero where there is no encoder."""
    if not shared_encoder().available:
        return np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    whole, *read = (readable(text, ENCODED_CHARS) for text in (within, *texts))
    return shared_encoder().encode(read, within=whole) * np.float32(ENCODER_WEIGHT)


def hashed(
    found: Mapping[str, Mapping[str, float]], weights: Mapping[str, float], places: int
) -> tuple[Ints, Floats]:
    """Terms by kind as places in rising order and their values; each kind has its weight's length.

    How often a term occurs counts by its logarithm.
    """
    codes, values = list[int](), list[float]()
    for kind, weight in weights.items():
        start = zlib.crc32(f"{kind}:".encode())
        codes += [zlib.crc32(term.encode("utf-8", "surrogatepass"), start) for term in found[kind]]
        counts = [1.0 if n == 1 else 1.0 + math.log(n) for n in found[kind].values()]
        length = math.sqrt(sum(value * value for value in counts)) or 1.0
        values += [weight * value / length for value in counts]
    code = np.array(codes, dtype=np.int64)
    signed = np.where(code >> 31, values, np.negative(values))
    sums: Floats = np.bincount(code % places, signed, places).astype(np.float64, copy=False)
    at = np.array(sorted(set((code % places).tolist())), dtype=np.int64)
    return at, sums[at]


@lru_cache(maxsize=KEPT_WORDS)
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


def stems(text: str) -> list[str]:
    """The stems of a text: short forms written out, and one sign for all numbers.

    >>> stems("What's on 2 screens?")
    ['what', 'is', 'on', '#', 'screen', '?']
    """
    plain = text.lower().replace("'", "").replace("\u2019", "")
    found: list[str] = []
    for word in _TOKEN.findall(plain):
        if word.isdigit():
            found.append(_NUMBER)
        else:
            found += map(stem, _SHORT_FORMS.get(word, (word,)))
    return found


def terms(text: str) -> dict[str, Mapping[str, float]]:
    """How often each term of each kind occurs in ``text``.

    >>> found = terms("Run tests!")
    >>> list(found["words"]), list(found["neighbours"])
    (['run', 'test', '!'], ['<s> run', 'run test', 'test !', '! </s>'])
    """
    words = stems(text)
    return {
        "words": Counter(words),
        "neighbours": Counter(map(" ".join, zip(["<s>", *words], [*words, "</s>"], strict=True))),
        "pieces": Counter(chain.from_iterable(map(_pieces_of_word, text.lower().split()))),
    }


@lru_cache(maxsize=KEPT_WORDS)
def _pieces_of_word(word: str) -> tuple[str, ...]:
    """Pieces of two to five characters, within the word and with the space on either side."""
    padded = f" {word} "
    sizes = [size for size in PIECE_SIZES if size < len(padded)]
    found = [padded[at : at + size] for size in sizes for at in range(len(padded) - size + 1)]
    return tuple(found) if len(padded) > max(PIECE_SIZES) else (*found, padded)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: how many came before it, and what the last one wanted."""

    earlier: int = 0
    previous: str | None = None
    answered: bool = False
    """Whether the assistant's reply to the last message is known."""


TURN_PLACES: Final = 1 << 14
"""Places for the terms of real turns. 32,768 are no better (cross-validated on the dev chats)."""

TURN_WIDTH: Final = TURN_PLACES + DIMENSIONS

TURN_CHARS: Final = 700
"""Characters of a real turn that are read: it says what it wants early."""

TURN_WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0, "neighbours": 0.7, "pieces": 1.0, "signs": 1.4,
}  # fmt: skip
"""Without pieces 1 point less on the dev chats."""

_URL: Final = re.compile(r"https?://\S+")
_PATH: Final = re.compile(r"\S*[\\/]\S+")
_WORD: Final = re.compile(r"[a-z']+|\d+|[?!.:]")
_FILE: Final = re.compile(r"@\S+|\S+\.\w{2,4}\b")
_TRACE: Final = re.compile(
    r"traceback|error:|exception|\bat .*:\d+|failed|warning:|exit code|ENOENT|undefined"
    r"|\berr(?:or)?\b\W{1,3}[a-z]{0,4}\d{3,}|\berr!|\[error\]|\bpanic:",
    re.IGNORECASE,
)
_SEARCHED_CHARS: Final = 8 * TURN_CHARS
_LOOK: Final[Mapping[str, Callable[[str], bool]]] = {
    "asks first": lambda message: "?" in message.partition("\n")[0],
    "asks": lambda message: "?" in message,
    "asks at the end": lambda message: message.rstrip().endswith("?"),
    "code": lambda message: "```" in message,
    "trace": lambda message: _TRACE.search(message[:_SEARCHED_CHARS]) is not None,
    "lines": lambda message: message.count("\n") > 3,
    "file": lambda message: _FILE.search(message[:_SEARCHED_CHARS]) is not None,
    "capital": lambda message: message[:1].isupper(),
}


@lru_cache(maxsize=16)
def turn_vector(message: str, place: Place) -> tuple[Ints, Floats]:
    """The features of a message: places in rising order, and their values; meaning comes last.

    Prose alone counts: what is pasted and named stands as one word each.
    """
    start = readable(message) if len(message) > _SEARCHED_CHARS else message
    prose = _PATH.sub(" pathlike ", _URL.sub(" url ", _FENCED.sub(" codeblock ", start)))
    signs = dict.fromkeys(turn_signs(message, place), 1)
    ids, values = hashed({**terms(prose[:TURN_CHARS]), "signs": signs}, TURN_WEIGHTS, TURN_PLACES)
    meaning = np.arange(TURN_PLACES, TURN_WIDTH)
    return np.append(ids, meaning), np.append(values, meanings([message])[0])


def turn_signs(message: str, place: Place) -> list[str]:
    """How a message begins and ends, what it looks like, and where it stands.

    >>> turn_signs("still broken?", Place(earlier=2))[1:5]
    ['first still broken', 'first still broken ?', 'last ?', 'length 2']
    """
    words = _WORD.findall(message[: 2 * TURN_CHARS].lower())
    return [
        *(f"first {' '.join(words[:count])}" for count in (1, 2, 3)),
        f"last {words[-1] if words else ''}",
        f"length {min(7, int(math.log2(len(words) + 1)))}",
        *(name for name, is_so in _LOOK.items() if is_so(message)),
        f"earlier {min(place.earlier, 3)}",
        f"previous {place.previous}",
        f"answered {place.answered}",
    ]
