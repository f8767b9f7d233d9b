"""pytest plugin: dialogue files and cases of skills in a test folder become tests, one item each.

Collected are files called `*.dialogue.yaml`, `.yml` or `.json`, every YAML file below a folder
called `dialogues`, and `*.skills.yaml`, which `kds skills test` runs, too. Two ini options:
`kds_dialogues = false` turns it off, and `kds_workspace` names the folder whose prompts and rules
are used (default: found from the root folder upwards). Registered through the entry point
`pytest11` in every run of pytest, also where there is nothing to collect: what reads and plays is
imported (0.2 s of CPU, 1 s with the router) when the first file is met.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kds.brain.errors import DialogueFileError, KdsError
from kds.brain.workspace import Workspace

if TYPE_CHECKING:
    from kds.activation import Activator
    from kds.api.routing import Router
    from kds.testing.dialogues import Dialogue
    from kds.testing.skills import Case

_ROUTER: Final = pytest.StashKey["Router"]()
_ACTIVATOR: Final = pytest.StashKey["Activator"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the two ini options."""
    parser.addini("kds_dialogues", "Collect KDS dialogue files.", type="bool", default=True)
    parser.addini("kds_workspace", "Folder of the KDS workspace, relative to the root folder.")


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> "DialogueFileCollector | SkillFileCollector | None":
    """Take the files that hold dialogues or cases of skills."""
    # The cheap test of the suffix first: this is called for every file of a test folder.
    if file_path.suffix not in (".yaml", ".yml", ".json"):
        return None
    if not parent.config.getini("kds_dialogues"):
        return None
    if file_path.name.endswith((".skills.yaml", ".skills.yml")):
        cases: SkillFileCollector = SkillFileCollector.from_parent(parent, path=file_path)
        return cases
    from kds.testing.dialogues import is_dialogue_file

    if not is_dialogue_file(file_path, parent.config.rootpath):
        return None
    collector: DialogueFileCollector = DialogueFileCollector.from_parent(parent, path=file_path)
    return collector


class DialogueFailedError(Exception):
    """A dialogue came out wrong; the text says how."""


class DialogueFileCollector(pytest.File):
    """One dialogue file."""

    def collect(self) -> Iterator["DialogueItem"]:
        """Yield an item a dialogue; a file that does not load is a collection error."""
        from kds.testing.dialogues import read_dialogues

        try:
            dialogues = read_dialogues(self.path)
        except DialogueFileError as error:
            raise self.CollectError(str(error)) from error
        for dialogue in dialogues:
            yield DialogueItem.from_parent(self, name=dialogue.id, dialogue=dialogue)


class DialogueItem(pytest.Item):
    """One dialogue, played from an empty context."""

    def __init__(self, *, dialogue: "Dialogue", **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # what pytest hands to every node
        self.dialogue = dialogue

    def runtest(self) -> None:
        """Play it; DialogueFailedError when a turn comes out wrong."""
        from kds.testing.dialogues import describe, play

        played = play(self.dialogue, _router(self.config).rehearse)
        if not played.passed:
            raise DialogueFailedError(describe(played))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """Show what went wrong in the words of `kds test`; a traceback only for a fault."""
        if isinstance(excinfo.value, DialogueFailedError | KdsError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point to the line of the dialogue."""
        line = self.dialogue.where.rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdigit() else 0, self.name


class SkillFileCollector(pytest.File):
    """A file of prompts, and the skill, agent or command that each should activate."""

    def collect(self) -> Iterator["SkillItem"]:
        """Yield an item a prompt; a file that does not load is a collection error."""
        from kds.testing.skills import read_cases

        names = [entry.name for entry in _activator(self.config).entries]
        try:
            cases = read_cases(self.path, names)
        except KdsError as error:
            raise self.CollectError(str(error)) from error
        for case in cases:
            yield SkillItem.from_parent(self, name=case.prompt[:60], case=case)


class SkillItem(pytest.Item):
    """One prompt."""

    def __init__(self, *, case: "Case", **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # what pytest hands to every node
        self.case = case

    def runtest(self) -> None:
        """Ask for it; DialogueFailedError when another entry is named, or none."""
        from kds.testing.skills import describe, judge

        judged = judge(self.case, _activator(self.config))
        if not judged.passed:
            raise DialogueFailedError(describe(judged))

    repr_failure = DialogueItem.repr_failure

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point to the line of the prompt."""
        line = self.case.where.rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdigit() else 0, self.name


def _router(config: pytest.Config) -> "Router":
    """The router of this run: its rules and model are loaded once."""
    from kds.api.routing import Router

    if _ROUTER not in config.stash:
        config.stash[_ROUTER] = Router.open(_workspace(config), log=False)
    return config.stash[_ROUTER]


def _activator(config: pytest.Config) -> "Activator":
    """What the project has, without what was learned on this machine: a test says the same
    everywhere."""
    from kds.activation import Activator
    from kds.brain.settings import load_settings

    if _ACTIVATOR not in config.stash:
        workspace = _workspace(config)
        precision = load_settings(workspace).activation.precision
        opened = Activator.open(workspace, precision=precision, learn=False)
        config.stash[_ACTIVATOR] = opened
    return config.stash[_ACTIVATOR]


def _workspace(config: pytest.Config) -> Workspace:
    named = config.getini("kds_workspace")
    return Workspace.find(config.rootpath / named if named else config.rootpath)
