"""The model of the packaged prompts, which ships, so that messages need not wait for a fit.

That of a workspace's own prompts is fitted on top of it when they are loaded: 0.3 s of CPU for an
agent with few examples. The files are `.npz` of plain arrays, in half precision.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from kds.brain.encoder import shared_encoder
from kds.brain.errors import KdsError
from kds.router.intents.examples import examples_of, fingerprints
from kds.router.intents.features import WORD_PLACES, readable, vectors
from kds.router.intents.linear import Calibrator, Linear, Matrix, packed, unpacked
from kds.router.intents.model import IntentModel
from kds.router.intents.patterns import Prompts, find_patterns
from kds.router.intents.training import Learned
from kds.router.prompts.promptfile import PromptFile

FITTED: Final = Path(__file__).parent.parent / "fitted"
SHIPPED: Final = "intents.npz"
"""The model of the packaged prompts, part of the package."""

ROWS: Final = "example_rows.npz"
"""Beside it: the features of their examples, to fit others on top of them."""

Shipped = TypeVar("Shipped")

LENT_FOR: Final = 30
"""Examples of an added intent that patterns are tried on."""


def open_model(prompts: Sequence[PromptFile]) -> IntentModel:
    """The model of these prompts: the shipped one, or one that is fitted on top of it."""
    examples, agents = examples_of(prompts)
    shipped = shipped_model()
    if shipped is None:
        return IntentModel.fit_examples(examples, agents)
    agents = lent_patterns(agents, shipped.labels)
    if np.array_equal(shipped.taught, fingerprints(examples)):
        return IntentModel(shipped, agents)  # patterns may differ: the linear model has none
    return IntentModel.fit_examples(examples, agents, base=shipped_rows())


def lent_patterns(agents: Prompts, shipped: Sequence[str]) -> Prompts:
    """The agents, where patterns that match examples of an added intent count for it as well.

    "Any command" speaks for the intent that has this pattern; as soon as somebody adds an agent for
    some commands, it speaks for that one too: by the share of its examples that it matches.
    """
    lent = dict(agents)
    for intent in agents.keys() - {*shipped} if agents.keys() & {*shipped} else ():
        agent = agents[intent]
        texts = [*agent.examples, agent.description][:LENT_FOR]
        found = Counter(
            pattern
            for text in texts
            for finding in find_patterns(agents, [*agents], [text])
            for pattern in finding.fired
            if not pattern.exact and pattern not in agent.patterns
        )
        more = (replace(one, weight=one.weight * n / len(texts)) for one, n in found.items())
        lent[intent] = agent.model_copy(update={"patterns": (*agent.patterns, *more)})
    return lent


@lru_cache(maxsize=1)
def shipped_model() -> Learned | None:
    """The numbers of the packaged prompts, fitted before they were shipped (`make model`)."""
    return read_shipped(FITTED / SHIPPED, undump)


def read_shipped(path: Path, read: Callable[[bytes], Shipped]) -> Shipped | None:
    """What ``read`` makes of a file that ships; None in a tree where it is yet to be made.

    Raises KdsError when it is damaged.
    """
    try:
        return read(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, OSError) as error:
        message = "a model that ships with KDS is damaged"
        raise KdsError(message, where=str(path), hint="reinstall KDS") from error


def ship_model(prompts: Sequence[PromptFile], folder: Path = FITTED) -> None:
    """Fit the model of ``prompts`` from nothing, and write it where it ships from."""
    learned = IntentModel.fit(prompts).learned
    rows = vectors([readable(text) for text, _ in examples_of(prompts)[0]])
    (folder / SHIPPED).write_bytes(dump(learned))
    (folder / ROWS).write_bytes(packed({"rows": rows.astype(np.float16)}))
    shipped_model.cache_clear()


def shipped_rows() -> tuple[Learned, Matrix] | None:
    """The shipped model with the rows that it was fitted on, where there are any."""
    learned = shipped_model()
    found = read_shipped(FITTED / ROWS, unpacked)
    if learned is None or found is None:
        return None
    rows: Matrix = found["rows"].astype(np.float32)
    if not shared_encoder().available:
        rows[:, WORD_PLACES:] = 0.0
    return learned, rows


def dump(learned: Learned) -> bytes:
    """The learned numbers as the bytes of an `.npz` file."""
    scope = {} if learned.scope is None else {"scope": learned.scope.table}
    return packed({
        "labels": np.array(learned.labels),
        "taught": learned.taught,
        "weights": learned.linear.weights.astype(np.float16),
        "bias": learned.linear.bias,
        "means": learned.means.astype(np.float16),
        "mix": np.array([learned.sharpness, learned.pattern_weight]),
        "calibrator": learned.calibrator.table,
    } | scope)  # fmt: skip


def undump(content: bytes) -> Learned:
    """The inverse of `dump`. Raises ValueError when the bytes are not a whole file of a model."""
    found = unpacked(content)
    weights, means = (found[name].astype(np.float32) for name in ("weights", "means"))
    sharpness, pattern_weight = map(float, found["mix"])
    return Learned(
        tuple(map(str, found["labels"])),
        found["taught"],
        Linear(weights, found["bias"]),
        means,
        sharpness,
        pattern_weight,
        Calibrator(found["calibrator"]),
        Calibrator(found["scope"]) if "scope" in found else None,
    )
