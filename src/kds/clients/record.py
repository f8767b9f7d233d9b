"""What `kds init` changed in a project: `kds-brain/init/record.json`, and what was there before.

The record is private to this machine. Without it the changes can still be told by their
content; with it the files come back as they were, to the byte.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from kds.brain.errors import StoreError
from kds.brain.private_file import (
    locked,
    make_private_folder,
    read_private,
    remove_private,
    replace_private,
)
from kds.clients.jsontext import KeyPath

LOCK_TIMEOUT_S: Final = 10.0

FileKind = Literal["settings", "ignore", "generated"]


class FileRecord(BaseModel):
    """One file that KDS wrote. ``before`` names the copy of what was there; None: no file."""

    model_config = ConfigDict(extra="forbid")
    kind: FileKind
    before: str | None
    after: str | None
    made: list[KeyPath] = []


class InitRecord(BaseModel):
    """All files of a project that KDS wrote, by their place in it."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1] = 1
    files: dict[str, FileRecord] = {}
    folders: list[str] = []


class RecordStore:
    """The record and the copies, in ``kds-brain/init``."""

    def __init__(self, brain: Path) -> None:
        self.folder = brain / "init"
        self._path = self.folder / "record.json"

    def load(self) -> InitRecord:
        """The record, empty when there is none. Raises StoreError when it is damaged."""
        content = read_private(self._path)
        if content is None:
            return InitRecord()
        try:
            return InitRecord.model_validate_json(content)
        except ValidationError as error:
            hint = "move it away: `kds init --undo` then goes by the content of the files"
            raise StoreError("it is no record of kds init", where=str(self._path), hint=hint) from (
                error
            )

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other runs of `kds init` out. Raises StoreError when one takes too long."""
        make_private_folder(self.folder)
        with locked(self._path, timeout_s=LOCK_TIMEOUT_S):
            yield

    def save(self, record: InitRecord) -> None:
        """Write the record and drop copies that nothing names. Hold the lock."""
        if record.files:
            replace_private(self._path, record.model_dump_json(indent=2).encode() + b"\n")
        else:
            remove_private(self._path)
        kept = {file.before for file in record.files.values()}
        for copy in self.folder.glob("*.before"):
            if copy.name not in kept:
                remove_private(copy)

    def keep(self, content: bytes) -> str:
        """Store a copy of what was there, and return its name."""
        name = f"{digest(content)[:16]}.before"
        replace_private(self.folder / name, content)
        return name

    def copy(self, name: str) -> bytes:
        """What was there before. Raises StoreError when the copy is gone."""
        content = read_private(self.folder / name)
        if content is None:
            hint = "restore the file from version control"
            raise StoreError("the copy is gone", where=str(self.folder / name), hint=hint)
        return content


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
