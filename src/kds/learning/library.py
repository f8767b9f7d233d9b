"""The prompts with the examples that were learned in a workspace, as the router uses them.

Every example passes the guard first. What it found is kept beside the model's cache, so that it
is asked again only when prompts or learned examples have changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kds.brain.clock import utc_now
from kds.brain.errors import StoreError
from kds.brain.learning.event import LearningEvent
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import (
    FILE_NAME,
    ITSELF,
    LearnedExample,
    LearnedFile,
    LearnedFileError,
)
from kds.brain.private_file import make_private_folder
from kds.brain.receipt import read_own, replace_own
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.learning.guard import find_refusals
from kds.router.intents.lessons import lessons
from kds.router.intents.model_cache import cache_key
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

GUARD: Final = 2
"""Raise it when the guard changes: its earlier verdicts then no longer count."""

VERDICT_FILE: Final = "learned-verdict.json"
"""In the cache folder: {"key", "refused": {id: reason}, "passed": [id]}."""


def learned_file(workspace: Workspace) -> LearnedFile:
    """The file of accepted examples of a workspace."""
    return LearnedFile(workspace.brain / FILE_NAME)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the guard found last time, and of what."""

    key: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    passed: tuple[str, ...] = ()


def with_learned(
    library: PromptLibrary, workspace: Workspace, *, may_write: bool
) -> tuple[PromptLibrary, tuple[str, ...]]:
    """The library with what was learned, and warnings about what could not be used.

    Nothing is learned while learning is off. A file that does not load is a warning: routing goes
    on as shipped. An example that was accepted by itself and that the guard refuses leaves the
    file if it ``may_write``; those that a person let in stay, unused, with a warning.
    """
    file = learned_file(workspace)
    if not file.path.exists() or not load_settings(workspace).learning.enabled:
        return library, ()
    try:
        examples = file.load()
        refusals = refused_examples(library, examples, workspace, may_write=may_write)
        refused = [one for one in examples if one.id in refusals]
        if may_write and (own := [one for one in refused if one.by == ITSELF]):
            _take_out(own, file, workspace)
    except (LearnedFileError, StoreError) as error:
        return library, (f"nothing learned is used: {error.where}: {error.message}",)
    used = [(one.intent, one.text) for one in examples if one.id not in refusals]
    warnings = [
        f"{file.path}:{one.line}: '{one.text}' is not used as {one.intent}: {refusals[one.id]}"
        for one in refused
    ]
    return library.with_examples(used), tuple(warnings)


def refused_examples(
    library: PromptLibrary,
    examples: Sequence[LearnedExample],
    workspace: Workspace,
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
    path = workspace.cache_dir / VERDICT_FILE
    known = _verdict(read_own(path))
    if known.key == key:
        return known.refused
    refusals = find_refusals(prompts, examples, tried=known.passed)
    if may_write:
        passed = [one.id for one in examples if one.id not in refusals]
        verdict = {"key": key, "refused": refusals, "passed": passed}
        make_private_folder(workspace.cache_dir)
        replace_own(path, json.dumps(verdict, ensure_ascii=False).encode())
    return refusals


def _key(prompts: Sequence[PromptFile], examples: Sequence[LearnedExample]) -> str:
    """A hash of all that the guard looks at."""
    shipped, _ = lessons(prompts)
    denied = [(text, f"not {one.intent}") for one in prompts for text in one.counter_examples]
    learned = [(one.text, f"learned {one.intent}") for one in examples]
    return f"{GUARD}-{cache_key([*shipped, *denied, *learned], ())}"


def _take_out(refused: Sequence[LearnedExample], file: LearnedFile, workspace: Workspace) -> None:
    now = utc_now()
    for one in refused:
        file.remove(one.id)
    events = [LearningEvent(now, "refused", one.text, one.intent) for one in refused]
    EventLog(workspace.brain / EVENTS).append(events)


def _verdict(content: bytes | None) -> _Verdict:
    """What was found last time; nothing when that cannot be read: it is only a cache."""
    try:
        found = json.loads(content or b"{}")
        refused = {str(name): str(reason) for name, reason in found["refused"].items()}
        return _Verdict(str(found["key"]), refused, tuple(map(str, found["passed"])))
    except (ValueError, TypeError, KeyError, AttributeError):
        return _Verdict()
