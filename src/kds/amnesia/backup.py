"""What amnesia takes is put away first: one private zip file, checked before anything is deleted.

In it: `manifest.json`, which names every file with its size and SHA-256, and the files under
`files/`, named from `kds-brain/`. Databases are copies that SQLite made, whole by themselves.
"""

import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from kds.amnesia.inventory import BACKUPS_DIR, kind_of
from kds.brain.clock import moment
from kds.brain.errors import StoreError
from kds.brain.private_file import PRIVATE, failure, make_private_folder
from kds.brain.visible import one_line
from kds.brain.workspace import Workspace

VERSION: Final = 1
MANIFEST: Final = "manifest.json"
PREFIX: Final = "files/"
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_BLOCK: Final = 1 << 20
_SAFE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

MANIFEST_BYTES: Final = 16 << 20
"""A manifest names the files of KDS, each in 150 bytes; a zip of a few bytes may promise more."""

TOTAL_BYTES: Final = 4 << 30
"""Of all files of a backup, unpacked: a memory of a million messages has 2 GB."""

PACKED_RATIO: Final = 200
SMALL_BYTES: Final = 64 << 20
"""Databases of text shrink to a fifth, zeros to a thousandth: what grows more than this, and
beyond what is small, is made to fill a disk."""

_STRANGE: Final = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, EOFError),
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
    RuntimeError,  # encrypted, packed in a way that is not known, or JSON that is nested too deep
)
"""What reading a file raises that is no backup of amnesia, or a damaged one."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup, and what is in it. ``problem`` says why it cannot be used, if so."""

    path: Path
    at: datetime | None
    files: Mapping[str, str]
    """Name -> SHA-256."""
    counts: Mapping[str, Mapping[str, int]]
    """Kind -> what -> how many."""
    size_bytes: int
    problem: str | None = None

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.path.stem

    def as_dict(self) -> dict[str, object]:
        """The backup as JSON has it."""
        return {
            "name": self.name,
            "path": str(self.path),
            "at": moment(self.at, "auto") if self.at else None,
            "counts": {kind: dict(found) for kind, found in self.counts.items()},
            "files": len(self.files),
            "size_bytes": self.size_bytes,
            "problem": self.problem,
        }


def backups_dir(workspace: Workspace) -> Path:
    """Where backups are. Raises StoreError when a link leads elsewhere."""
    folder = workspace.brain / BACKUPS_DIR
    if folder.is_symlink():
        raise StoreError(
            "the folder of backups is a link", where=str(folder), hint="replace it by a folder"
        )
    return folder


def list_backups(workspace: Workspace) -> tuple[Backup, ...]:
    """Every backup of a workspace, oldest first; those that are damaged say so."""
    folder = backups_dir(workspace)
    return tuple(read_backup(path) for path in sorted(folder.glob("amnesia-*.zip")))


def write_backup(
    workspace: Workspace,
    sources: Iterable[tuple[str, Path]],
    counts: Mapping[str, Mapping[str, int]],
    *,
    now: datetime,
) -> Backup:
    """Put files away under their names, make that durable, and read it back to be sure.

    Raises StoreError; then there is no backup, and nothing may be deleted.
    """
    folder = backups_dir(workspace)
    make_private_folder(folder)
    path = _free(folder, now)
    beside = folder / f".{path.name}.{os.urandom(6).hex()}.tmp"
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE)
        with os.fdopen(descriptor, "w+b") as file:
            _write(file, workspace, sources, counts, now)
            file.flush()
            os.fsync(file.fileno())
        verify(read_backup(beside))
        beside.replace(path)
        _sync(folder)
    except OSError as error:
        raise failure("back up", path, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return read_backup(path)


def read_backup(path: Path) -> Backup:
    """Read what a backup says of itself, without reading what is in it."""
    try:
        size = path.lstat().st_size
        with _opened(path) as archive:
            _check_size(archive, size)
            found: Any = json.loads(_manifest(archive))
        if found["version"] != VERSION:
            raise ValueError(f"version {found['version']}, not {VERSION}")
        files = {str(name): str(digest) for name, digest in found["files"].items()}
        if strange := [name for name in files if kind_of(name) is None]:
            raise ValueError(f"holds '{strange[0]}', which is no data of KDS")
        at = datetime.fromisoformat(found["at"]).astimezone(UTC)
        return Backup(path, at, files, _checked_counts(found["counts"]), size)
    except _STRANGE as error:
        reason = one_line(str(error)) or type(error).__name__
        return Backup(path, None, {}, {}, _size(path), f"no backup of amnesia: {reason}")


def verify(backup: Backup) -> None:
    """Read everything back. Raises StoreError unless every byte is what the manifest says."""
    if backup.problem:
        raise StoreError(backup.problem, where=str(backup.path), hint="use another backup")
    try:
        with _opened(backup.path) as archive:
            for name, digest in backup.files.items():
                with archive.open(PREFIX + name) as file:
                    if _digest(file) != digest:
                        raise StoreError(f"'{name}' in it is damaged", where=str(backup.path))
    except _STRANGE as error:
        raise StoreError(f"it cannot be read: {error}", where=str(backup.path)) from error


def extract(backup: Backup, name: str, target: Path) -> None:
    """Write one file of the backup to ``target``, new and private. Raises StoreError."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE)
        with (
            os.fdopen(descriptor, "wb") as out,
            _opened(backup.path) as archive,
            archive.open(PREFIX + name) as file,
        ):
            shutil.copyfileobj(file, out)  # zipfile reads no more than the size that it says
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise failure("restore", target, error) from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file that is none of a link's. Raises StoreError."""
    try:
        with open_data(path) as file:
            return _digest(file)
    except OSError as error:
        raise failure("read", path, error) from error


def open_data(path: Path) -> IO[bytes]:
    """Open a file of data for reading; a link is refused. Raises OSError."""
    flags = os.O_RDONLY | _SAFE | getattr(os, "O_NONBLOCK", 0)
    return os.fdopen(os.open(path, flags), "rb")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with open_data(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


def _check_size(archive: zipfile.ZipFile, packed: int) -> None:
    """Raise ValueError for an archive that is made to fill a disk."""
    total = sum(entry.file_size for entry in archive.infolist())
    if total > TOTAL_BYTES or total > max(SMALL_BYTES, PACKED_RATIO * packed):
        raise ValueError(f"it unpacks to {total >> 20:,} MB, which no backup of KDS does")


def _checked_counts(found: Any) -> dict[str, dict[str, int]]:
    """The counts of a manifest. Raises ValueError unless they are counts."""
    counts = {kind: dict(rows) for kind, rows in dict(found).items()}
    for kind, rows in counts.items():
        if not all(isinstance(word, str) and word.isprintable() for word in (kind, *rows)):
            raise ValueError("it counts what has no name")
        if not all(type(count) is int for count in rows.values()):
            raise ValueError("its counts are no numbers")
    return counts


def _manifest(archive: zipfile.ZipFile) -> bytes:
    """Read the manifest, never more than one has. Raises ValueError."""
    if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
        raise ValueError(f"its manifest is larger than {MANIFEST_BYTES >> 20} MB")
    with archive.open(MANIFEST) as file:  # that size may be a lie: no more is unpacked at once
        return file.read(MANIFEST_BYTES)


def _write(
    file: IO[bytes],
    workspace: Workspace,
    sources: Iterable[tuple[str, Path]],
    counts: Mapping[str, Mapping[str, int]],
    now: datetime,
) -> None:
    digests: dict[str, str] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, source in sources:
            found = hashlib.sha256()
            with (
                open_data(source) as content,
                archive.open(_entry(name), "w", force_zip64=True) as to,
            ):
                while block := content.read(_BLOCK):
                    found.update(block)
                    to.write(block)
            digests[name] = found.hexdigest()
        manifest = {
            "version": VERSION,
            "at": now.astimezone(UTC).isoformat(),
            "workspace": str(workspace.root),
            "files": digests,
            "counts": {kind: dict(found) for kind, found in counts.items()},
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(PREFIX + name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = PRIVATE << 16
    return entry


def _digest(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while block := file.read(_BLOCK):
        found.update(block)
    return found.hexdigest()


def _free(folder: Path, now: datetime) -> Path:
    stem = f"amnesia-{now.astimezone(UTC).strftime(_STAMP)}"
    path, number = folder / f"{stem}.zip", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.zip"
    return path


def _sync(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
