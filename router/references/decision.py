"""Whether a proposed edit is written: one small model, and the precision that was promised.

Rules and salience propose; on real chats five of six of their proposals are wrong, and their
score does not say which. So every proposal gets a probability that a careful reader
accepts it, and what does not reach the promise stays as it was typed and is listed as unresolved.
The weights are a readable file, fitted by `make decision` (tools/fit_decision.py).
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError
from kds.brain.turn import Reference, Turn
from kds.router.english import words
from kds.router.language.lexicon import readings
from kds.router.language.misspelling import meant
from kds.router.references.signs import LONG_WORDS, Signs, is_plain

WEIGHTS: Final = Path(__file__).parent.parent / "fitted" / "decision.json"

PRECISION: Final = 0.93
"""Share of the written edits that is to be right, unless the settings say otherwise."""

DESTRUCTIVE_DOUBT: Final = 0.5
"""Where the message deletes something, this share of the doubt that is allowed otherwise."""

HEADROOM: Final = 0.5
"""What the probability of an edit may exceed its score by."""

SOLE: Final = 0.97
"""At least this where a command of a plain talk can mean one thing alone: in the dev chats and
the project's own talks one such edit is wrong, and of the other proposals two of three are."""

TOLD: Final = 3
"""Signs against an edit that a note names."""


_DESTRUCTIVE: Final = words("verbs", "destructive")
_WORD: Final = re.compile(r"[a-z]+")
_PHRASES: Final = re.compile(r"\b(?:get(?:ting)? rid of|roll(?:ed|ing)? back|throw\w* away)\b")
_OF_PEOPLE: Final = frozenset({"pron.person", "pron.they"})


@dataclass(frozen=True, slots=True)
class Sign:
    """How much a sign of an edit weighs, and its mean among the edits it was learnt from."""

    weight: float
    mean: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The probability that a careful reader accepts an edit, and what speaks most against it."""

    probability: float
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decider:
    """A logistic model over the signs of an edit."""

    signs: Mapping[str, Sign]
    bias: float

    def decide(self, signs: Signs) -> Decision:
        """The probability for an edit with these signs."""
        shares = {
            name: sign.weight * (signs.get(name, 0.0) - sign.mean)
            for name, sign in self.signs.items()
        }
        odds = self.bias + sum(shares.values())
        worst = sorted((share, name) for name, share in shares.items() if share < 0)
        return Decision(
            1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, odds)))),
            tuple(name for _, name in worst[:TOLD]),
        )


@lru_cache(maxsize=1)
def shipped_decider() -> Decider | None:
    """The weights that ship; None in a tree where they are yet to be made. Raises KdsError."""
    try:
        return read_decider(WEIGHTS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise KdsError(
            "the weights of the decision are damaged", where=str(WEIGHTS), hint="install KDS anew"
        ) from error


def read_decider(text: str) -> Decider:
    """Read what the fitting wrote. Raises ValueError for anything else."""
    try:
        found = json.loads(text)
        signs = {
            str(name): Sign(float(one["weight"]), float(one["mean"]))
            for name, one in found["signs"].items()
        }
        return Decider(signs, float(found["bias"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no weights of a decision: {error}") from error


def digest(fitted: Mapping[str, object]) -> str:
    """The digest of what the fitting wrote: it differs where a file was edited by hand."""
    told = {name: value for name, value in fitted.items() if name != "digest"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def is_destructive(message: str) -> bool:
    """Whether a wrong reading of the message could destroy something.

    >>> [is_destructive(said) for said in ("please revert that", "delte it", "Widen the dropdown")]
    [True, True, False]
    """
    text = message.lower()
    found = _WORD.findall(text)
    if len(found) <= LONG_WORDS:
        found += [one for word in found for one in meant(word)]
    named = any(word in _DESTRUCTIVE or readings(word).verb in _DESTRUCTIVE for word in found)
    return named or _PHRASES.search(text) is not None


def bar(message: str, precision: float) -> float:
    """The probability that an edit of ``message`` must reach.

    >>> round(bar("Make it purple", 0.9), 3), round(bar("Delete it", 0.9), 3)
    (0.9, 0.95)
    """
    doubt = 1.0 - precision
    return 1.0 - doubt * DESTRUCTIVE_DOUBT if is_destructive(message) else precision


def floor(turn: Turn, reference: Reference | None) -> float:
    """The least that an edit is accepted with: the only thing in play is meant, whatever the form.

    Not where something else of the message points back, and found nothing.
    """
    sole = reference is not None and reference.sole and not turn.unresolved
    return SOLE if sole and is_plain(turn) else 0.0


def ceiling(reference: Reference | None) -> float:
    """The most that an edit may be accepted with: what hardly comes to mind is never sure.

    Of the 49 edits below .6 in the dev chats nine are right; the tidy dialogues, where all are
    right, have nine, and would have the model believe any. Who is meant by "he" or "they" is told
    by person and number more than by what comes to mind.
    """
    if reference is None or reference.rule in _OF_PEOPLE:
        return 1.0
    return min(1.0, reference.score + HEADROOM)
