"""A change of a rule, of words or of a prompt, tried without being saved.

The workspace's files are copied to a folder of their own, the change is made there, and read as
the service would read it. Problems and tests then name the files as if it were saved.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from kds.api.own_files import OwnFile, OwnFiles
from kds.api.routing import rehearsed, rewriting_steps
from kds.api.rule_tests import describe_outcome, run_rule_tests
from kds.api.workspace_parts import LearnedParts, Parts, load_resolver
from kds.brain.document_cache import DocumentCache
from kds.brain.errors import ConfigError, DialogueFileError, Problem
from kds.brain.whereabouts import BRAIN
from kds.brain.workspace import Workspace
from kds.evaluation.dialogue_file import find_dialogue_files, is_dialogue_file, read_dialogues
from kds.evaluation.playback import describe, play
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary
from kds.router.references.rule import Rule

DIALOGUES: Final = ("tests/dialogues", "dialogues")
"""Where a project keeps its dialogues."""

Test = Callable[[], Sequence[str | None]]
"""Runs some tests; of each: None, or how it failed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a change."""

    parts: Parts
    """What would route."""
    passed: int
    failed: tuple[str, ...]
    """How tests failed, in words."""
    left: int
    """Groups of tests that there was no time for: a rule's, or a file of dialogues."""


def check_change(parts: Parts, file: OwnFile) -> None:
    """Raise ConfigError with all problems that the workspace would have with this file."""
    with _changed(parts, file):
        pass


def try_change(parts: Parts, file: OwnFile, *, limit_s: float) -> Trial:
    """Load the workspace with this file, and run tests until the time is up.

    They are the workspace's dialogues, and those of the rules in the file; of all rules for a
    file without any, of words or knowledge. Raises as `check_change`, and MessageError for a name.
    """
    until = monotonic() + limit_s
    with _changed(parts, file) as (changed, copy):
        tests = [*_dialogues(changed), *_rule_tests(changed, copy, file)]
        told: list[str | None] = []
        left = len(tests)
        while left and monotonic() < until:
            told += tests[-left]()
            left -= 1
    failed = tuple(
        one.replace(str(copy.root), str(parts.workspace.root)) for one in told if one is not None
    )
    return Trial(changed, len(told) - len(failed), failed, left)


@contextmanager
def _changed(parts: Parts, file: OwnFile) -> Iterator[tuple[Parts, Workspace]]:
    with TemporaryDirectory(prefix="kds-trial-") as folder:
        root = Path(folder).resolve()
        copy = Workspace(root, root / BRAIN)
        _write(OwnFiles(parts.workspace), OwnFiles(copy), file)
        try:
            changed = _loaded(parts, copy, file)
        except ConfigError as error:
            told = [(one.where, one.message, one.hint) for one in error.problems]
            own = str(parts.workspace.root)
            raise ConfigError(
                Problem(*(text.replace(str(root), own) for text in one)) for one in told
            ) from error
        yield changed, copy


def _write(own: OwnFiles, copy: OwnFiles, file: OwnFile) -> None:
    contents = own.contents()
    contents |= {path: text.encode() for path, text in own.with_companions(file)}
    for path, content in contents.items():
        place = copy.workspace.root / path.relative_to(own.workspace.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _loaded(parts: Parts, copy: Workspace, file: OwnFile) -> Parts:
    cache = DocumentCache.open(parts.workspace.cache_dir)
    if not file.name.startswith("prompts/"):
        return replace(parts, resolver=load_resolver(copy, cache=cache))
    library = PromptLibrary.load(copy.prompts_dir, cache=cache)
    model = open_model(library.prompts(), parts.workspace.cache_dir, may_write=False).model
    turns = turn_model_for(model.learned.labels)
    return LearnedParts(replace(parts, library=library, model=model, turns=turns)).now


def _rule_tests(changed: Parts, copy: Workspace, file: OwnFile) -> Iterator[Test]:
    if file.name.startswith("prompts/"):
        return
    place, rules = str(OwnFiles(copy).path(file.name)), changed.resolver.rules
    inside = [rule for rule in rules if rule.where.rpartition(":")[0] == place]
    for rule in inside or reversed(rules):  # the workspace's own come last there
        yield partial(_tested, rule, changed, copy)


def _tested(rule: Rule, changed: Parts, copy: Workspace) -> list[str | None]:
    outcomes = run_rule_tests(
        [rule],
        rewriting_steps(changed.resolver),
        lambda left_out: rewriting_steps(load_resolver(copy, without=left_out)),
    )
    return [None if one.passed else describe_outcome(one) for one in outcomes]


def _dialogues(changed: Parts) -> Iterator[Test]:
    root = changed.workspace.root
    for folder in DIALOGUES:
        found = (root / folder).rglob("*")
        if any(one.is_file() and is_dialogue_file(one, root) for one in found):
            for path in find_dialogue_files([root / folder]):
                yield partial(_played, path, changed)


def _played(path: Path, changed: Parts) -> list[str | None]:
    try:
        played = [play(one, partial(rehearsed, changed)) for one in read_dialogues(path)]
    except DialogueFileError as error:
        return [str(error)]
    return [None if one.passed else describe(one) for one in played]
