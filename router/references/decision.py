"""Whether a proposed edit is written: one small model, and the precision that was promised.

Rules and salience propose; on real chats five of six of their proposals are wrong, and their
score does not say which. So every proposal gets the probability that it is right, and what does not
reach the threshold stays as it was typed and is listed as unresolved.
The weights are a readable file, fitted by `make decision` (tools/fit_decision.py).
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError
from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.english import words
from kds.router.language.lexicon import readings
from kds.router.language.misspelling import meant

WEIGHTS: Final = Path(__file__).parent.parent / "fitted" / "decision.json"

PRECISION: Final = 0.93
"""Share of the written edits that is to be right, unless the settings say otherwise."""

DESTRUCTIVE_DOUBT: Final = 0.5
"""Where the message deletes something, this share of the doubt that is allowed otherwise."""

HEADROOM: Final = 0.5
"""What the probability of an edit may exceed its score by: what hardly comes to mind is never sure.
Of the 49 edits below .6 in the dev chats nine are right; the tidy dialogues, where all are right,
have nine, and would have the model believe any."""

SOLE: Final = 0.97
"""At least this where a command of a plain talk can mean one thing alone: in the dev chats and
the project's own talks one such edit is wrong, and of the other proposals two of three are."""

TOLD: Final = 3
"""Signs against an edit that a note names."""

LONG_WORDS: Final = 15
LATE: Final = 5
"""Messages from which on much was talked about that a word may point to."""
TAIL_CHARS: Final = 300
"""The end of a reply: its summary, its options, its question."""
READ_CHARS: Final = 8_000
"""Characters of a message that are searched for the antecedent's words, for each edit anew."""

_OF_REPLIES: Final = "answer."
"""Rules that answer the assistant. For the others a reply counts before: where it brings up
something newer nothing is proposed, and where it brings up nothing it says nothing."""

_OF_PEOPLE: Final = frozenset({"pron.person", "pron.they"})
"""Rules whose antecedent is told by person and number more than by what comes to mind."""

_REPLIED: Final = "score|head in last message|head in reply|words|earlier messages".split("|")
"""Signs that weigh differently where the assistant's reply is known."""

_DESTRUCTIVE: Final = words("verbs", "destructive")
_STOP: Final = words("function_words", "unsaid")
_WORD: Final = re.compile(r"[a-z]+")
_PHRASES: Final = re.compile(r"\b(?:get(?:ting)? rid of|roll(?:ed|ing)? back|throw\w* away)\b")
_CONTENT: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")
_NAMED: Final = re.compile(r"[A-Z_/.@0-9]")
_PASTED: Final = re.compile(r"[{}\n]|```")
_CODE: Final = re.compile(r"[`{}@/\\_]")

Signs = dict[str, float]
"""What is known of an edit before it is written: names and numbers."""


@dataclass(frozen=True, slots=True)
class Decider:
    """A logistic model over the signs of an edit."""

    signs: Mapping[str, tuple[float, float]]
    """How much a sign weighs, and its mean among the edits it was learnt from."""
    bias: float

    def decide(self, signs: Signs) -> tuple[float, tuple[str, ...]]:
        """The probability for an edit with these signs, and what speaks most against it."""
        shares = {
            name: weight * (signs.get(name, 0.0) - mean)
            for name, (weight, mean) in self.signs.items()
        }
        odds = max(-40.0, min(40.0, self.bias + sum(shares.values())))
        worst = sorted((share, name) for name, share in shares.items() if share < 0)
        return 1.0 / (1.0 + math.exp(-odds)), tuple(name for _, name in worst[:TOLD])


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
            name: (float(one["weight"]), float(one["mean"])) for name, one in found["signs"].items()
        }
        return Decider(signs, float(found["bias"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no weights of a decision: {error}") from error


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


def bounded(turn: Turn, reference: Reference | None, probability: float) -> float:
    """The probability, not far above the score of ``reference`` and not below what is sure.

    The only thing in play is meant, whatever the form; not where something else of the message
    points back, and found nothing.
    """
    if reference is None:
        return probability
    if reference.rule not in _OF_PEOPLE:
        probability = min(probability, reference.score + HEADROOM)
    sure = reference.sole and not turn.unresolved and _is_plain(turn)
    return max(probability, SOLE) if sure else probability


def _is_plain(turn: Turn) -> bool:
    """Whether the talk so far is one of short requests, without pasted code."""
    said = [turn.message, *(one.text for one in _said(turn) if one.role == "user")]
    return all(len(text.split()) <= LONG_WORDS and not _PASTED.search(text) for text in said)


def behind(turn: Turn, edit: Edit) -> Reference | None:
    """The reference that an edit writes out: the one it touches, or the last one before it."""
    touching = (one for one in turn.references if one.start <= edit.end and edit.start <= one.end)
    before = (one for one in reversed(turn.references) if one.end <= edit.start)
    first = turn.references[0] if turn.references else None
    return next(touching, next(before, first))


def is_answered(turn: Turn) -> bool:
    """Whether the assistant's reply to the last message is known."""
    return bool(turn.history) and turn.history[-1].role == "assistant"


@lru_cache(maxsize=64)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that carry meaning, in lower case. Kept: each edit asks for the same."""
    found = (word.strip("./-") for word in _CONTENT.findall(_OWN.sub("", text.lower())))
    return tuple(word for word in found if word and word not in _STOP)


def edit_signs(turn: Turn, edit: Edit) -> Signs:
    """What is known of an edit before it is written: names and numbers, 0 and 1 for no and yes.

    The capital at the start tells nothing: the shift key is not evidence.
    """
    reference = behind(turn, edit)
    if reference is None or not reference.rule.startswith(_OF_REPLIES):
        turn = replace(turn, history=())
    text = (reference.target if reference else "") or edit.text.strip(" ,()")
    target = content_words(text)
    head = target[-1] if target else ""
    message, kind = turn.message, reference.rule.partition(".")[0] if reference else "none"
    others = set(content_words(f"{message[: edit.start]} {message[edit.end : READ_CHARS]}"))
    said = _said(turn)
    asked = [one.text for one in said if one.role == "user"]
    replies = [one.text for one in said if one.role == "assistant"]
    known = [content_words(one) for one in asked]
    age = next((age for age, words in enumerate(reversed(known)) if head in words), None)
    last = asked[-1] if asked else ""
    before, now = len(last.split()), len(message.split())
    introduced = _introduces(last, target)
    late, further = len(asked) >= LATE, age != 0
    found: Signs = {
        f"kind {kind}": 1.0,
        "score": reference.score if reference else 0.0,
        "unresolved": len(turn.unresolved),
        "several edits": len(turn.edits) > 1,
        "far into the message": edit.start / max(1, len(message)),
        "characters before it": math.log1p(edit.start),
        "words before it": math.log1p(len(content_words(message[: edit.start]))),
        "words": math.log1p(now),
        "long": now > LONG_WORDS,
        "lines": "\n" in message,
        "code": _CODE.search(message) is not None,
        "question": "?" in message,
        "head in message": head in others,
        "all in message": bool(target) and others.issuperset(target),
        "words of target": len(target),
        "long target": len(target) > 3,
        "named target": _NAMED.search(text) is not None,
        "capital target": text[:1].isupper(),
        "head repeated": reference is not None and head in content_words(reference.text),
        "reply known": is_answered(turn),
        "earlier messages": math.log1p(len(asked)),
        "late": late,
        "head in last message": age == 0,
        "head in message before": age == 1,
        "head further back": age is not None and age > 1,
        "head nowhere": age is None,
        "all in last message": bool(known) and set(known[-1]).issuperset(target),
        "introduced": introduced,
        "opened with it": len(asked) == 1 and introduced,
        "words of last message": math.log1p(before),
        "long last message": before > 25,
        "short last message": 0 < before <= 8,
        "both short": 0 < before <= 10 and now <= 6,
        "pronoun, late": kind == "pron" and late,
        "pronoun, not in last message": kind == "pron" and further,
        "noun, not in last message": kind == "np" and further,
    }
    if replies:
        reply = content_words(replies[-1])
        found["head in reply"] = head in reply
        found["all in reply"] = set(reply).issuperset(target)
        found["head at the end of the reply"] = head in content_words(replies[-1][-TAIL_CHARS:])
    if is_answered(turn):
        found |= {f"{name}, reply known": found.get(name, 0.0) for name in _REPLIED}
    return {name: float(value) for name, value in found.items()}


def _introduces(message: str, target: Sequence[str]) -> bool:
    """ "I want to add a FAB button" brings up a FAB button, which "the" would take for known."""
    named = re.escape(" ".join(target))
    pattern = rf"\b(?:a|an|another|new)\s+(?:[\w-]+\s+){{0,3}}?{named}\b"
    return bool(target) and re.search(pattern, message.lower()) is not None


def _said(turn: Turn) -> Sequence[Utterance]:
    """What was said before; where only the context tells, with what each message referred to."""
    if turn.history:
        return turn.history
    return [Utterance(f"{one.user_message} {one.context_ref or ''}") for one in turn.context]
