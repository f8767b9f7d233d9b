"""What an intent model is fitted on, and what tells two such sets apart."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.learning.phrases import phrase_key
from kds.router.english import words
from kds.router.intents.evidence import IntentRules
from kds.router.prompts.promptfile import PromptFile

_QUESTIONS: Final = words("requests", "questions") | words("closed_class", "modals")


def lessons(
    prompts: Sequence[PromptFile],
) -> tuple[list[tuple[str, str]], tuple[IntentRules, ...]]:
    """The examples and the rules that a model of these prompts is fitted on.

    The description of an agent counts as one example of its intent.
    """
    agents = sorted((p for p in prompts if p.intent), key=lambda prompt: prompt.intent or "")
    examples = [
        (text, prompt.intent or "")
        for prompt in agents
        for text in (*prompt.examples, prompt.description)
    ]
    return examples, tuple(IntentRules.of(prompt) for prompt in agents)


def fingerprints(examples: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    """What tells pairs of text and label apart, 64 bits each, in rising order without repeats."""
    return _fingerprints(tuple(examples))


@lru_cache(maxsize=4)  # a process opens the same prompts again and again
def _fingerprints(examples: tuple[tuple[str, str], ...]) -> NDArray[np.uint64]:
    found = np.unique(_digests(examples))
    found.flags.writeable = False
    return found


def taught_labels(text: str, labels: Sequence[str], taught: NDArray[np.uint64]) -> tuple[str, ...]:
    """The labels that have ``text`` among their examples; ``taught`` are fingerprints in order."""
    wanted = _digests([(text, label) for label in labels])
    nearest = taught[np.searchsorted(taught, wanted).clip(max=len(taught) - 1)]
    found = nearest == wanted
    return tuple(label for label, known in zip(labels, found.tolist(), strict=True) if known)


def _digests(examples: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    found = (
        blake2b(
            f"{label}\0{_spelling(text)}".encode("utf-8", "surrogatepass"), digest_size=8
        ).digest()
        for text, label in examples
    )
    return np.frombuffer(b"".join(found), dtype="<u8")


def _spelling(text: str) -> str:
    """What the spellings of one example share; a question needs no question mark.

    >>> _spelling("Will it rain tomorrow?"), _spelling("deploy it?")
    ('will it rain tomorrow', 'deploy it?')
    """
    key = phrase_key(text)
    asks = key.partition(" ")[0] in _QUESTIONS
    return key.rstrip("? ") or key if asks else key


def lessons_key(examples: Iterable[tuple[str, str]], rules: Iterable[IntentRules]) -> str:
    """A hash of all that a model learns from: examples and patterns."""
    patterns = [
        (rule.intent, kind, pattern.source, pattern.weight, pattern.exact)
        for rule in rules
        for kind, group in (("for", rule.patterns), ("not", rule.excludes), ("needs", rule.needs))
        for pattern in group
    ]
    inputs = json.dumps([list(examples), patterns])
    return blake2b(inputs.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
