"""The examples that models are fitted on, and messages that are an example to the letter."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.learning.phrases import phrase_key
from kds.router.english import words
from kds.router.intents.features import readable
from kds.router.intents.patterns import Prompts, bare_request, readings
from kds.router.prompts.promptfile import PromptFile

Pairs = Sequence[tuple[str, str]]

_QUESTIONS: Final = words("requests", "questions") | words("closed_class", "modals")
_WORDS: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?|\?|[^\w\s,;:.!()\"]")


def examples_of(prompts: Sequence[PromptFile]) -> tuple[list[tuple[str, str]], Prompts]:
    """The examples of the agents among these prompts, and the agents by intent.

    The description of an agent counts as one example of its intent.
    """
    agents = {one.intent: one for one in prompts if one.intent}
    agents = dict(sorted(agents.items()))
    examples = [
        (text, intent)
        for intent, agent in agents.items()
        for text in (*agent.examples, agent.description)
    ]
    return examples, agents


def fingerprints(examples: Pairs) -> NDArray[np.uint64]:
    """What tells pairs of text and label apart, 64 bits each, in the order of ``examples``."""
    return np.array([_fingerprint(*pair) for pair in examples], dtype=np.uint64)


@lru_cache(maxsize=8192)  # a process opens the same prompts again and again
def _fingerprint(text: str, label: str) -> int:
    named = f"{label}\0{_spelling(text)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(named, digest_size=8).digest(), "little")


def labels_of_example(
    text: str, labels: Sequence[str], taught: NDArray[np.uint64]
) -> tuple[str, ...]:
    """The labels that have ``text`` among their examples; ``taught`` are their fingerprints."""
    return tuple(label for label in labels if _fingerprint(text, label) in taught)


def _spelling(text: str) -> str:
    """What the spellings of one example share; a question needs no question mark.

    >>> _spelling("Will it rain tomorrow?"), _spelling("deploy it?")
    ('will it rain tomorrow', 'deploy it?')
    """
    key = phrase_key(text)
    asks = key.partition(" ")[0] in _QUESTIONS
    return key.rstrip("? ") or key if asks else key


def own_key(text: str) -> str:
    """What the spellings of somebody's own example share: case and signs do not count.

    >>> own_key("Hmm, it covers the footer!"), own_key("is it green?")
    ('hmm it covers the footer', 'is it green ?')
    """
    return " ".join(_WORDS.findall(phrase_key(text)))


def own_keys(message: str) -> list[str]:
    """The keys of the examples that a message may be, as it is spelt or asked for.

    "Can you ship it?" and "ok, let's ship it" are the example "ship it".
    """
    asked_for = readings(readable(bare_request(message)))
    return [own_key(message), *(own_key(form).rstrip(" ?") for form in asked_for)]
