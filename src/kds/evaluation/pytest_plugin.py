"""pytest plugin: dialogue files in a test folder become tests, one item a dialogue.

Collected are files called `*.dialogue.yaml`, `.yml` or `.json`, and every YAML file below a
folder called `dialogues`. Two ini options: `kds_dialogues = false` turns it off, and
`kds_workspace` names the folder whose prompts and rules are used (default: found from the
root folder upwards). Registered through the entry point `pytest11`; only the lazy front door
is imported until the first dialogue file is met.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kds

_ROUTER: Final = pytest.StashKey["kds.Router"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the two ini options."""
    parser.addini("kds_dialogues", "Collect KDS dialogue files.", type="bool", default=True)
    parser.addini("kds_workspace", "Folder of the KDS workspace, relative to the root folder.")


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> "DialogueFileCollector | None":
    """Take the files that hold dialogues."""
    # The cheap test of the suffix first: this is called for every file of a test folder.
    if file_path.suffix not in (".yaml", ".yml", ".json"):
        return None
    if not parent.config.getini("kds_dialogues"):
        return None
    if not kds.is_dialogue_file(file_path, parent.config.rootpath):
        return None
    collector: DialogueFileCollector = DialogueFileCollector.from_parent(parent, path=file_path)
    return collector


class DialogueFailedError(Exception):
    """A dialogue came out wrong; the text says how."""


class DialogueFileCollector(pytest.File):
    """One dialogue file."""

    def collect(self) -> Iterator["DialogueItem"]:
        """Yield an item a dialogue; a file that does not load is a collection error."""
        try:
            dialogues = kds.read_dialogues(self.path)
        except kds.DialogueFileError as error:
            raise self.CollectError(str(error)) from error
        for dialogue in dialogues:
            yield DialogueItem.from_parent(self, name=dialogue.id, dialogue=dialogue)


class DialogueItem(pytest.Item):
    """One dialogue, played from an empty context."""

    def __init__(self, *, dialogue: "kds.Dialogue", **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # what pytest hands to every node
        self.dialogue = dialogue

    def runtest(self) -> None:
        """Play it; DialogueFailedError when a turn comes out wrong."""
        played = kds.play(self.dialogue, _router(self.config).rehearse)
        if not played.passed:
            raise DialogueFailedError(kds.describe(played))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """Show what went wrong in the words of `kds test`; a traceback only for a fault."""
        if isinstance(excinfo.value, DialogueFailedError | kds.KdsError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point to the line of the dialogue."""
        line = self.dialogue.where.rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdigit() else 0, self.name


def _router(config: pytest.Config) -> "kds.Router":
    """The router of this run: its rules and model are loaded once."""
    if _ROUTER not in config.stash:
        named = config.getini("kds_workspace")
        folder = config.rootpath / named if named else None
        start = folder or config.rootpath
        config.stash[_ROUTER] = kds.Router.open(kds.Workspace.find(start), log=False)
    return config.stash[_ROUTER]
