"""pytest plugin: every dialogue and every skill case in a test folder becomes a test.

Collects `*.dialogue.yaml`, `.yml` and `.json`, every YAML file below a folder called `dialogues`,
and `*.skills.yaml`, which `kds skills test` runs too. The ini option `kds_workspace` names
the folder whose prompts and rules are used (default: found from the root folder upwards). pytest
loads the plugin in every run, so the code that reads and plays is imported late (0.2 s of CPU, 1 s
with the router).
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace

if TYPE_CHECKING:
    from kds.activation import Activator
    from kds.api.routing import Router

SKILL_SUFFIXES: Final = (".skills.yaml", ".skills.yml")

Case = tuple[str, str, Callable[[], str]]
"""The name of a test, its place, and what tells how it came out wrong; "" when it did not."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option."""
    parser.addini("kds_workspace", "Folder of the KDS workspace, relative to the root folder.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "KdsFile | None":
    """Take the files that hold dialogues or skill cases."""
    # The cheap test of the suffix first: this is called for every file of a test folder.
    if file_path.suffix not in (".yaml", ".yml", ".json"):
        return None
    if not file_path.name.endswith(SKILL_SUFFIXES):
        from kds.testing.dialogues import is_dialogue_file

        if not is_dialogue_file(file_path, parent.config.rootpath):
            return None
    collector: KdsFile = KdsFile.from_parent(parent, path=file_path)
    return collector


class KdsFile(pytest.File):
    """A file of dialogues, or of prompts with the skill that each should activate."""

    def collect(self) -> Iterator["KdsItem"]:
        """Yield a test for each; a file that does not load is a collection error."""
        folder = self.config.rootpath / (self.config.getini("kds_workspace") or ".")
        try:
            cases = list(_cases(self.path, Workspace.find(folder)))
        except KdsError as error:
            raise self.CollectError(str(error)) from error
        for name, where, wrong in cases:
            yield KdsItem.from_parent(self, name=name, where=where, wrong=wrong)


class KdsItem(pytest.Item):
    """One dialogue, played from an empty context, or one prompt."""

    def __init__(self, *, where: str, wrong: Callable[[], str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.where, self.wrong = where, wrong

    def runtest(self) -> None:
        """Run it; a failure reads as in `kds test`."""
        try:
            text = self.wrong()
        except KdsError as error:
            text = str(error)
        if text:
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point to its line."""
        return self.path, int(self.where.rpartition(":")[2]) - 1, self.name


def _cases(path: Path, workspace: Workspace) -> Iterator[Case]:
    from kds.testing import dialogues, skills

    def judged(case: skills.Case) -> str:
        return skills.describe([skills.judge(case, _activator(workspace))])

    def played(dialogue: dialogues.Dialogue) -> str:
        return dialogues.describe(dialogues.play(dialogue, _router(workspace).rehearse))

    if path.name.endswith(SKILL_SUFFIXES):
        known = [entry.name for entry in _activator(workspace).entries]
        for case in skills.read_cases(path, known):
            yield case.prompt[:60], case.where, partial(judged, case)
    else:
        for one in dialogues.read_dialogues(path):
            yield one.id, one.where, partial(played, one)


@cache
def _router(workspace: Workspace) -> "Router":
    """The router of this run: its rules and model are loaded once."""
    from kds.api.routing import Router

    return Router.open(workspace, log=False)


@cache
def _activator(workspace: Workspace) -> "Activator":
    """The project's skills, without what this machine learned: tests agree everywhere."""
    from kds.activation import Activator
    from kds.brain.settings import load_settings

    precision = load_settings(workspace).activation.precision
    return Activator.open(workspace, precision=precision, learn=False)
