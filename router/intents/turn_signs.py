"""The signs of a turn, beside its words: what `kds.router.intents.turn_model` weighs.

People at work type "still not working" behind a reply, paste a trace without a word, or answer
"2". How a message begins and ends, its length, what is pasted into it and where it stands in the
conversation say as much as its words do.
"""

import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.features import readable
from kds.router.intents.terms import terms

DIMENSION: Final = 1 << 14
"""Places that terms are hashed to. 32,768 are no better (cross-validated on the dev chats), and
hashed terms do not give away what was typed."""

READ_CHARS: Final = 700
"""Characters of a message that are read: real messages say what they want early."""

KIND_WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0, "neighbours": 0.7, "pieces": 1.0, "concepts": 0.5,
}  # fmt: skip
"""Without pieces 1 point less on the dev chats, without concepts .2."""

SIGNS_WEIGHT: Final = 1.4
"""Length of the part of the vector that the signs take."""

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_URL: Final = re.compile(r"https?://\S+")
_PATH: Final = re.compile(r"\S*[\\/]\S+")
_WORD: Final = re.compile(r"[a-z']+|\d+|[?!.:]")
_FILE: Final = re.compile(r"@\S+|\S+\.\w{2,4}\b")
_TRACE: Final = re.compile(
    r"traceback|error:|exception|\bat .*:\d+|failed|warning:|exit code|ENOENT|undefined"
    r"|\berr(?:or)?\b\W{1,3}[a-z]{0,4}\d{3,}|\berr!|\[error\]|\bpanic:",
    re.IGNORECASE,
)
_MANY_LINES: Final = 3
_LATER: Final = 3
_LONG: Final = 7


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: how many came before it, and what the last one wanted."""

    earlier: int = 0
    previous: str | None = None
    answered: bool = False
    """Whether the assistant's reply to the last message is known."""


def turn_vector(message: str, place: Place) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The hashed terms and signs of a message: places in rising order, and their values."""
    values: dict[int, float] = {}
    found = terms(_plain(message)[:READ_CHARS])
    for kind, weight in KIND_WEIGHTS.items():
        counts = {f"{kind}:{term}": 1.0 + math.log(n) for term, n in found[kind].items()}
        _add(values, counts, weight)
    _add(values, {f"sign:{sign}": 1.0 for sign in turn_signs(message, place)}, SIGNS_WEIGHT)
    order = sorted(values)
    return np.array(order, dtype=np.int64), np.array([values[at] for at in order])


def _add(values: dict[int, float], terms_found: Mapping[str, float], weight: float) -> None:
    """Add terms as a part of length ``weight``."""
    length = math.sqrt(sum(value * value for value in terms_found.values())) or 1.0
    for term, value in terms_found.items():
        at = zlib.crc32(term.encode("utf-8", "surrogatepass")) % DIMENSION
        values[at] = values.get(at, 0.0) + weight * value / length


def turn_signs(message: str, place: Place) -> list[str]:
    """The signs of a message, by name.

    >>> turn_signs("still broken?", Place(earlier=2))[1:5]
    ['first still broken', 'first still broken ?', 'last ?', 'length 2']
    """
    words = _WORD.findall(message[: 2 * READ_CHARS].lower())
    return [*_wording(words), *_look(message), *_standing(place)]


def _wording(words: list[str]) -> Iterable[str]:
    for count in (1, 2, 3):
        yield f"first {' '.join(words[:count])}"
    yield f"last {words[-1] if words else ''}"
    yield f"length {min(_LONG, int(math.log2(len(words) + 1)))}"


def _look(message: str) -> Iterable[str]:
    start = message.partition("\n")[0]
    found = {
        "asks first": "?" in start,
        "asks": "?" in message,
        "asks at the end": message.rstrip().endswith("?"),
        "code": "```" in message,
        "trace": _TRACE.search(message[: 8 * READ_CHARS]) is not None,
        "lines": message.count("\n") > _MANY_LINES,
        "file": _FILE.search(message[: 8 * READ_CHARS]) is not None,
        "capital": message[:1].isupper(),
    }
    return (name for name, is_so in found.items() if is_so)


def _standing(place: Place) -> Iterable[str]:
    yield f"earlier {min(place.earlier, _LATER)}"
    yield f"previous {place.previous}"


def _plain(message: str) -> str:
    """Prose alone: what is pasted and named stands as one word each."""
    start = readable(message) if len(message) > 8 * READ_CHARS else message
    return _PATH.sub(" pathlike ", _URL.sub(" url ", _FENCED.sub(" codeblock ", start)))
