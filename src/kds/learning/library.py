"""The prompts with the examples that were learned in a workspace, as the router uses them.

Every example passes the guard first. What it found is kept, so that it is asked again only when
prompts or learned examples have changed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from kds.brain.clock import utc_now
from kds.brain.errors import KdsError, StoreError
from kds.brain.learning.event import LearningEvent
from kds.brain.learning.learned_file import ITSELF, LearnedExample, LearnedFileError
from kds.brain.learning.reference import LearnedReference
from kds.brain.workspace import Workspace
from kds.learning.example_guard import find_clashes, find_refusals
from kds.learning.learning_place import LearningPlace
from kds.router.intents.lessons import lessons
from kds.router.intents.model_cache import cache_key
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

GUARD: Final = 2
"""Raise it when the guard changes: its earlier verdicts then no longer count."""


class _Verdict(BaseModel):
    """What the guard found last time, and of what."""

    key: str = ""
    refused: dict[str, str] = Field(default={})
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """What was learned and passed the guard; ``untried``: something has yet to be shown to it."""

    examples: tuple[LearnedExample, ...] = ()
    references: tuple[LearnedReference, ...] = ()
    warnings: tuple[str, ...] = ()
    untried: bool = False


def with_learned(
    library: PromptLibrary,
    workspace: Workspace,
    *,
    may_write: bool,
    environ: Mapping[str, str] = os.environ,
) -> tuple[PromptLibrary, tuple[str, ...]]:
    """The library with what was learned, and warnings about what could not be used.

    Nothing is learned while learning is off. What does not load is a warning: routing goes
    on as shipped. An example that was accepted by itself and that the guard refuses leaves the
    file if it ``may_write``; those that a person let in stay, unused, with a warning.
    """
    place = LearningPlace.of(workspace, environ=environ)
    if not place.file.text.exists or not place.enabled:
        return library, ()
    try:
        examples = place.file.load()
        refusals = refused_examples(library, examples, place, may_write=may_write)
        refused = [one for one in examples if one.id in refusals]
        if may_write and (own := [one for one in refused if one.by == ITSELF]):
            _take_out(own, place)
    except (LearnedFileError, StoreError) as error:
        return library, (_unused(error),)
    used = [(one.intent, one.text) for one in examples if one.id not in refusals]
    found = library.with_examples(used) if used else library
    return found, _told(refused, refusals, place)


def tried(library: PromptLibrary, place: LearningPlace) -> Tried:
    """What was learned as far as the guard has let it in; the guard itself is not asked.

    Where prompts have changed since, what contradicts them is left out, and no more: the rest is
    measured anew when something is learned. Raises StoreError, SettingsError.
    """
    if not place.enabled:
        return Tried()
    try:
        examples, references = place.file.load(), place.file.references()
    except LearnedFileError as error:
        return Tried(warnings=(_unused(error),))
    known = _verdict(place.verdict() if examples else None)
    refusals = dict(known.refused)
    if known.key != _key(library.prompts(), examples):
        refusals |= find_clashes(library.prompts(), examples)
    refused = [one for one in examples if one.id in refusals]
    used = [one for one in examples if one.id in {*known.passed} - refusals.keys()]
    untried = len(used) + len(refused) < len(examples)
    return Tried(tuple(used), references, _told(refused, refusals, place), untried)


def refused_examples(
    library: PromptLibrary,
    examples: Sequence[LearnedExample],
    place: LearningPlace,
    *,
    may_write: bool,
) -> Mapping[str, str]:
    """What the guard says about the examples, remembered from the last time when it can be.

    ``library`` is without them. Raises StoreError.
    """
    if not examples:
        return {}
    prompts = library.prompts()
    key = _key(prompts, examples)
    known = _verdict(place.verdict())
    if known.key == key:
        return known.refused
    refusals = find_refusals(prompts, examples, tried=known.passed)
    if may_write:
        passed = tuple(one.id for one in examples if one.id not in refusals)
        found = _Verdict(key=key, refused=refusals, passed=passed)
        place.keep_verdict(found.model_dump_json().encode())
    return refusals


def _unused(error: KdsError) -> str:
    return f"nothing learned is used: {error.where}: {error.message}"


def _told(
    refused: Sequence[LearnedExample], reasons: Mapping[str, str], place: LearningPlace
) -> tuple[str, ...]:
    return tuple(
        f"{place.file.text}:{one.line}: '{one.text}' is not used as {one.intent}: {reasons[one.id]}"
        for one in refused
    )


def _key(prompts: Sequence[PromptFile], examples: Sequence[LearnedExample]) -> str:
    """A hash of all that the guard looks at."""
    shipped, _ = lessons(prompts)
    denied = [(text, f"not {one.intent}") for one in prompts for text in one.counter_examples]
    learned = [(one.text, f"learned {one.intent}") for one in examples]
    return f"{GUARD}-{cache_key([*shipped, *denied, *learned], ())}"


def _take_out(refused: Sequence[LearnedExample], place: LearningPlace) -> None:
    now = utc_now()
    for one in refused:
        place.file.remove(one.id)
    place.events.append([LearningEvent(now, "refused", one.text, one.intent) for one in refused])


def _verdict(content: bytes | None) -> _Verdict:
    """What was found last time; nothing when that cannot be read: it is only a cache."""
    try:
        return _Verdict.model_validate_json(content or b"{}")
    except ValidationError:
        return _Verdict()
