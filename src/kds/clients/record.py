"""What `kds init` changed in a project: `kds-brain/init/record.json`, and what was there before.

The record is private to this machine. Without it the changes can still be told by their
content; with it the files come back as they were, to the byte.

A cloned project may bring a record that somebody wrote to do harm. One that names anything but
what `kds init` writes is refused as a whole. And a record counts only with a receipt
(`kds.brain.files`): without one, no copy is restored, and each file only loses what is KDS's.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
)

from kds.brain.errors import StoreError
from kds.brain.files import (
    locked,
    make_private_folder,
    read_private,
    read_trusted,
    remove_private,
    replace_private,
    replace_trusted,
)
from kds.clients.project import (
    CLAUDE_LOCAL,
    COPILOT_SETTINGS,
    IGNORE_FILE,
    MCP_FILES,
    OWN_HOOK_FILES,
    SKILL_FOLDERS,
)
from kds.clients.settings.jsontext import KeyPath
from kds.clients.table import (
    AGENTS_PAGE,
    CLAUDE_SETTINGS,
    CODEX_CONFIG,
    CURSOR_RULE,
    OPENCODE_PLUGIN,
    Client,
)

LOCK_TIMEOUT_S: Final = 10.0

FileKind = Literal["settings", "ignore", "generated", "toml", "section"]

_HOOK_FOLDER: Final = ".github/hooks"
_SETTINGS: Final = (
    *(CLAUDE_SETTINGS, CLAUDE_LOCAL, *COPILOT_SETTINGS), *MCP_FILES, *OWN_HOOK_FILES
)  # fmt: skip
SINGLE_FILES: Final[Mapping[str, FileKind]] = {
    IGNORE_FILE: "ignore",
    CODEX_CONFIG: "toml",
    AGENTS_PAGE: "section",
    CURSOR_RULE: "generated",
    OPENCODE_PLUGIN: "generated",
    **dict.fromkeys(_SETTINGS, "settings"),
}
"""What KDS writes under one name only, and what kind of file that is."""
_FOLDERS: Final = frozenset(
    parent.as_posix()
    for name in (*SINGLE_FILES, f"{_HOOK_FOLDER}/x", *(f"{folder}/x" for folder in SKILL_FOLDERS))
    for parent in PurePosixPath(name).parents
    if parent.parts
)
_PART: Final = re.compile(r"(?!\.\.?$)[^/\\:\0]+")
"""One name below a folder; a colon is a drive or a stream on Windows."""


def kind_of(name: str) -> FileKind | None:
    """What KDS writes under this name, below the folder of a project; None for nothing.

    >>> kind_of(".claude/skills/kds/SKILL.md"), kind_of(".git/config"), kind_of("../.mcp.json")
    ('generated', None, None)
    """
    if name in SINGLE_FILES:
        return SINGLE_FILES[name]
    folder, _, last = name.rpartition("/")
    if folder == _HOOK_FOLDER and _is_part(last) and last[-5:] == ".json":
        return "settings"
    return "generated" if last == "SKILL.md" and _is_skill_folder(folder) else None


def _is_skill_folder(name: str) -> bool:
    folder, _, last = name.rpartition("/")
    return folder in SKILL_FOLDERS and _is_part(last)


def _is_part(name: str) -> bool:
    return _PART.fullmatch(name) is not None


def _of_ours(name: str) -> str:
    if name in _FOLDERS or _is_skill_folder(name):
        return name
    raise ValueError("KDS makes no such folder")


_UNKNOWN: Final = ""
"""In the place of a digest: that of no file, so that each counts as changed since."""


class FileRecord(BaseModel):
    """One file that KDS wrote. ``before`` names the copy of what was there; None: no file."""

    model_config = ConfigDict(extra="forbid")
    kind: FileKind
    before: Annotated[str, Field(pattern=r"^[0-9a-f]{16}\.before$")] | None
    after: str | None
    made: list[KeyPath] = []


class InitRecord(BaseModel):
    """All files of a project that KDS wrote, by their place in it."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1] = 1
    clients: list[Client] = []
    """For which it was asked: VS Code and the Copilot CLI cannot be told by their files."""
    files: dict[str, FileRecord] = {}
    folders: list[Annotated[str, AfterValidator(_of_ours)]] = []
    _foreign: bool = PrivateAttr(default=False)

    @property
    def is_foreign(self) -> bool:
        """Whether it was not written here: it came with the project, or the folder was moved."""
        return self._foreign

    def as_foreign(self) -> "InitRecord":
        """The same without what has to be believed: contents, and copies of what was there."""
        files = {
            name: file.model_copy(update={"before": file.before and _UNKNOWN, "after": _UNKNOWN})
            for name, file in self.files.items()
        }
        record = self.model_copy(update={"files": files})
        record._foreign = True
        return record

    @field_validator("files")
    @classmethod
    def _only_ours(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        for name, file in files.items():
            if kind_of(name) != file.kind:
                raise ValueError(f"KDS writes no such file: {name}")
        return files


class RecordStore:
    """The record and the copies, in ``kds-brain/init``."""

    def __init__(self, brain: Path) -> None:
        self.folder = brain / "init"
        self._path = self.folder / "record.json"

    def load(self) -> InitRecord:
        """The record, empty when there is none; see `InitRecord.is_foreign`.

        Raises StoreError when it is not a record of `kds init`.
        """
        self._check_folder()
        content = read_private(self._path)
        if content is None:
            return InitRecord()
        try:
            record = InitRecord.model_validate_json(content)
        except ValidationError as error:
            hint = "move it away: `kds init --undo` then goes by the content of the files"
            raise StoreError("it is no record of kds init", where=str(self._path), hint=hint) from (
                error
            )
        return record if read_trusted(self._path) == content else record.as_foreign()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other runs of `kds init` out. Raises StoreError when one takes too long."""
        self._check_folder()
        make_private_folder(self.folder)
        with locked(self._path, timeout_s=LOCK_TIMEOUT_S):
            yield

    def save(self, record: InitRecord) -> None:
        """Write the record and drop copies that nothing names. Hold the lock."""
        if record.files:
            replace_trusted(self._path, record.model_dump_json(indent=2).encode() + b"\n")
        else:
            remove_private(self._path)
        kept = {file.before for file in record.files.values()}
        for copy in self.folder.glob("*.before"):
            if copy.name not in kept:
                remove_private(copy)

    def leave(self) -> None:
        """Remove the lock and the folder once nothing is recorded. Let go of the lock before."""
        if self._path.exists():
            return
        with suppress(OSError):  # somebody holds it (Windows), or keeps files of theirs in it
            self._path.with_name(f"{self._path.name}.lock").unlink(missing_ok=True)
            self.folder.rmdir()

    def keep(self, content: bytes) -> str:
        """Store a copy of what was there, and return its name."""
        name = _copy_name(content)
        replace_private(self.folder / name, content)
        return name

    def copy(self, name: str) -> bytes:
        """What was there before. Raises StoreError when the copy is gone, or is another text."""
        content = read_private(self.folder / name)
        if content is not None and _copy_name(content) == name:
            return content
        fault = "the copy is gone" if content is None else "it was changed since"
        hint = "restore the file from version control"
        raise StoreError(fault, where=str(self.folder / name), hint=hint)

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            hint = "remove the link: a record is kept in the project itself"
            raise StoreError("it is a link", where=str(self.folder), hint=hint)


def _copy_name(content: bytes) -> str:
    return f"{digest(content)[:16]}.before"


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
