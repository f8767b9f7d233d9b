"""What the turn model learns from: messages with their intents, and the first reading of each.

Real turns of chats, the project's own chats, the tidy dialogues, and the examples of the packaged
prompts, each of these read by a model that was not taught it.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.classify import first_reading, place_of
from kds.router.intents.evidence import IntentVerdict
from kds.router.intents.examples import examples_of
from kds.router.intents.features import WIDTH, Place
from kds.router.intents.linear import Linear
from kds.router.intents.model import IntentModel
from kds.router.intents.model_cache import shipped_rows
from kds.testing.chats import play_with, read_chats
from kds.testing.dialogues import read_dialogues

OWN: Final = "own chats"
TYPED: Final = ("chats", OWN)
"""Sources of real turns: what the head learns from. With the project's own chats it is as often
right on the others, acts on one in a hundred more, and its confidence is off by a third less."""

SEED: Final = 7
EXAMPLE_FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message with the intents that are right for it, and the first reading of it."""

    source: str
    group: str
    message: str
    place: Place
    verdict: IntentVerdict
    intents: tuple[str, ...]
    """Best first."""


def read_lessons(data: Path, own: Path) -> list[Lesson]:
    """Of chats/dev.jsonl and dialogues/dev.json in ``data``, the chats in ``own``, the prompts."""
    with tempfile.TemporaryDirectory() as empty:
        # without a turn model: what is fitted must not depend on what was
        parts = replace(Parts.load(Workspace.at(empty), may_write=False), turns=None)
    return [
        *_chat_lessons("chats", data / "chats/dev.jsonl", parts),
        *(one for path in sorted(own.glob("*.jsonl")) for one in _chat_lessons(OWN, path, parts)),
        *_dialogue_lessons(data / "dialogues/dev.json", parts),
        *_example_lessons(parts, np.random.default_rng(SEED)),
    ]


def _chat_lessons(source: str, path: Path, parts: Parts) -> Iterator[Lesson]:
    for chat in read_chats(path):
        for played in play_with(chat, partial(rehearsed, parts)):
            expected = played.expected
            if expected.labelled and expected.intents:
                labels = tuple(expected.intents)
                yield _lesson(source, chat.repo or "", parts.model, played.turn, labels)


def _dialogue_lessons(path: Path, parts: Parts) -> Iterator[Lesson]:
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router = rehearsed(parts, clock)
        for expected in dialogue.turns:
            turn = router.route(expected.user)
            if expected.intents:
                yield _lesson("dialogues", dialogue.id, parts.model, turn, expected.intents)
            clock.tick()


def _example_lessons(parts: Parts, random: np.random.Generator) -> Iterator[Lesson]:
    """The prompts' examples, each read by a model that was not taught it."""
    examples, rules = examples_of(parts.library.prompts())
    fold = random.integers(0, EXAMPLE_FOLDS, len(examples))
    shipped = shipped_rows()
    blank = replace(
        shipped,
        learned=replace(shipped.learned, linear=Linear.zeros(WIDTH, len(shipped.learned.labels))),
    )
    for held in range(EXAMPLE_FOLDS):
        taught = [pair for pair, at in zip(examples, fold, strict=True) if at != held]
        model = IntentModel.fit_examples(taught, rules, base=blank)
        for number in np.flatnonzero(fold == held).tolist():
            text, label = examples[number]
            verdict = model.score(text)
            yield Lesson("examples", str(number), text, Place(1), verdict, (label,))


def _lesson(
    source: str, group: str, model: IntentModel, turn: Turn, intents: Sequence[str]
) -> Lesson:
    verdict, _ = first_reading(model, turn)
    return Lesson(source, group, turn.message, place_of(turn), verdict, tuple(intents))
