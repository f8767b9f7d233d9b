"""What else changes when a message is taught: shipped examples that read otherwise then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.workspace import Workspace
from kds.router.intents.model import IntentModel
from kds.router.intents.model_cache import open_model
from kds.router.prompts.library import PromptLibrary

NEAREST: Final = 60
"""Shipped examples that are read both ways: those with most words in common."""


@dataclass(frozen=True, slots=True)
class Change:
    """A shipped example; messages like it read as ``becomes`` now, no longer as ``intent``."""

    text: str
    intent: str
    becomes: str


Pairs = Sequence[tuple[str, str]]


def changes(
    workspace: Workspace, library: PromptLibrary, before: Pairs, after: Pairs
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """What pairs of message and intent change beside those before; and warnings of the cache.

    The text alone is read, as the router does before patterns and the conversation have a say.
    """
    opened = open_model(library.prompts(), workspace.cache_dir)
    new = [text for text, intent in after if (text, intent) not in {*before}]
    then, now = opened.model.with_own(before), opened.model.with_own(after)
    return tuple(_changes(library, new, then, now)), opened.warnings


def _changes(
    library: PromptLibrary, new: Sequence[str], then: IntentModel, now: IntentModel
) -> Iterator[Change]:
    for text, intent in _nearest(library, new):
        becomes = now.leaning(text)
        if becomes != intent and then.leaning(text) == intent:
            yield Change(text, intent, becomes)


def _nearest(library: PromptLibrary, new: Sequence[str]) -> list[tuple[str, str]]:
    said = {word for text in new for word in text.lower().split()}
    shipped = [
        (len(said & {*text.lower().split()}) / len(text.split()), text, agent.intent or "")
        for agent in library.agents()
        for text in agent.examples
    ]
    shipped.sort(key=lambda row: -row[0])
    return [(text, intent) for share, text, intent in shipped[:NEAREST] if share]
