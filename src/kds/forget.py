"""Forget what a workspace remembers, after a backup that can be restored.

The backup is a plain zip file in `kds-brain/backups`, with the names that the files have in
`kds-brain`; databases in it are whole copies that SQLite made. While the backup is made and files
are deleted, other processes cannot write to them, so a process that is killed leaves the data, the
backup, or both. A running service opens its databases anew at its next request.
"""

import os
import re
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import PRIVATE, PrivateFile, failure, make_private_folder
from kds.brain.store.migrations import trust
from kds.brain.workspace import Workspace, shared_database

_DATABASE: Final = r"(-journal|-wal|-shm|\.suspect|\.(bad|backup)-[\w.-]+)?"
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "context": ("conversation context", r"conversation-context\.jsonl(\.bad)?"),
    "conversations": (
        "conversations of their own",
        r"conversations/[a-z0-9-]*-[0-9a-f]{16}\.jsonl(\.waiting)?(\.bad)?",
    ),
    "memory": ("long memory and profile", rf"memory\.db{_DATABASE}"),
    "documents": ("indexed documents", rf"documents\.db{_DATABASE}|uploads/[^/\\]+"),
    "learned": ("taught examples", r"learned\.yaml|learning\.jsonl(\.bad)?"),
    "work": ("work in progress", r"work/[a-z0-9-]+\.json(\.bad)?"),
    "cache": ("caches (fitted models; made again when needed)", r"cache/[\w.-]+"),
}
"""Kind -> what it is called, and the names of its files in `kds-brain`. Other files stay."""

STAYS: Final = (
    "prompts/ and kds-brain/rules/: your prompts and rules",
    "settings.yaml, README.md and .gitignore",
    "service files and the hook's log",
    "the files of your assistants, and the application itself",
    "backups/: earlier backups",
)
STAYS_ON_SERVER: Final = (
    "what is on the server: kds memory delete, kds context clear, kds learn undo, kds docs remove"
)

_DATABASES: Final = ("memory.db", "documents.db")
_FOLDERS: Final = ("", "conversations", "uploads", "work", "cache")
_LEFTOVER: Final = re.compile(r"\.(?P<name>[^/]+)\.[0-9a-f]{12}\.tmp")
"""What a killed write leaves beside a file (`kds.brain.files`)."""

_LOCK_TIMEOUT_S: Final = 10.0
_SAFE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""What zipfile raises for a file that is not a zip, or a damaged or encrypted one."""


class ForgetError(KdsError):
    """Nothing was forgotten, or nothing restored; the message says why."""


@dataclass(frozen=True, slots=True)
class Item:
    """One kind of data: its files, named from `kds-brain`, and their size in bytes."""

    kind: str
    files: tuple[str, ...]
    size: int

    def __str__(self) -> str:
        noun = "file" if len(self.files) == 1 else "files"
        return f"{KINDS[self.kind][0]}: {len(self.files)} {noun}, {self.size / 1000:,.1f} kB"


@dataclass(frozen=True, slots=True)
class Survey:
    """What a workspace remembers. ``links`` lead elsewhere; they and ``stays`` are left alone."""

    items: tuple[Item, ...]
    links: tuple[str, ...]
    stays: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all kinds, sorted: the order in which they are locked."""
        return tuple(sorted(name for item in self.items for name in item.files))


@dataclass(frozen=True, slots=True)
class Report:
    """What was forgotten, and its backup (None if there was nothing to forget)."""

    forgotten: Survey
    backup: Path | None


@dataclass(frozen=True, slots=True)
class Restored:
    """The files brought back from ``backup``; ``replaced`` is a backup of what they replaced."""

    backup: Path
    files: tuple[str, ...]
    replaced: Path | None = None


def kind_of(name: str) -> str | None:
    """The kind of data in a file, by its name from `kds-brain`; None for files that stay.

    >>> kind_of("memory.db-wal"), kind_of("settings.yaml"), kind_of("work/../rules/x.json")
    ('memory', None, None)
    """
    folder, slash, last = name.rpartition("/")
    if last in (".", "..") or not last.isprintable():
        return None
    if left := _LEFTOVER.fullmatch(last):
        name = f"{folder}{slash}{left['name']}"
    return next((kind for kind, (_, form) in KINDS.items() if re.fullmatch(form, name)), None)


def survey(workspace: Workspace, *, keep: Sequence[str] = ()) -> Survey:
    """List what is there, except for the kinds to ``keep``. Changes nothing.

    Raises ForgetError for an unknown kind.
    """
    if unknown := [one for one in keep if one not in KINDS]:
        raise ForgetError(f"unknown kind '{unknown[0]}'", hint=f"kinds: {', '.join(KINDS)}")
    found: dict[str, list[str]] = {kind: [] for kind in KINDS if kind not in keep}
    links = []
    for name in _names(workspace.brain):
        kind, path = kind_of(name), workspace.brain / name
        if path.is_symlink() and (kind or name in _FOLDERS):
            links.append(name)
        elif kind in found and path.is_file():
            found[kind].append(name)
    items = tuple(
        Item(kind, tuple(names), sum((workspace.brain / one).stat().st_size for one in names))
        for kind, names in found.items()
        if names
    )
    stays = (*STAYS, STAYS_ON_SERVER) if shared_database(workspace) else STAYS
    return Survey(items, tuple(links), stays)


def forget(workspace: Workspace, *, keep: Sequence[str] = (), clock: Clock = utc_now) -> Report:
    """Back up what the workspace remembers and delete it, except for the kinds to ``keep``.

    Raises ForgetError for an unknown kind, StoreError when a file is busy or the backup cannot be
    made: then everything is as before.
    """
    found = survey(workspace, keep=keep)
    if not found.files:
        return Report(found, None)
    folder = _backup_folder(workspace)
    make_private_folder(folder)
    with ExitStack() as locks:
        locks.enter_context(PrivateFile(folder).locked(timeout_s=_LOCK_TIMEOUT_S))
        for left in folder.glob(".*.tmp"):
            PrivateFile(left).remove()
        for name in found.files:
            locks.enter_context(_held(workspace.brain / name))
        found = survey(workspace, keep=keep)  # again: now nobody can write
        stamp = clock().strftime("%Y%m%dT%H%M%S%fZ")
        backup = _back_up(workspace.brain, found.files, folder / f"forgotten-{stamp}.zip")
        for name in found.files:
            PrivateFile(workspace.brain / name).remove()
            if "/" in name:  # the lock's name is that of the conversation
                PrivateFile(workspace.brain / f"{name}.lock").remove()
    return Report(found, backup)


def backups(workspace: Workspace) -> tuple[Path, ...]:
    """The backups of a workspace, oldest first."""
    return tuple(sorted(_backup_folder(workspace).glob("forgotten-*.zip")))


def restore(workspace: Workspace, name: str | None = None, *, force: bool = False) -> Restored:
    """Bring back a backup: the one called ``name``, or the newest.

    Newer data is not overwritten; with ``force`` it is forgotten first, with a backup of its own.
    Raises ForgetError when there is newer data or no such backup, StoreError for a damaged one.
    """
    path = _chosen(workspace, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | _SAFE)
        with os.fdopen(descriptor, "rb") as file, zipfile.ZipFile(file) as archive:
            names = _checked(archive, path)
            newer = [
                one
                for one in names
                if os.path.lexists(workspace.brain / one) and kind_of(one) != "cache"
            ]
            replaced = None
            if newer and not force:
                raise ForgetError(
                    f"there is newer data: {', '.join(newer[:3])}",
                    where=str(workspace.brain),
                    hint=f"kds forget --restore {path.stem} --force backs it up first",
                )
            if newer:
                kinds = {kind_of(one) for one in names}
                replaced = forget(workspace, keep=[one for one in KINDS if one not in kinds]).backup
            workspace.ensure()
            for one in names:
                _put_back(archive, one, workspace.brain / one)
    except _DAMAGED as error:
        raise StoreError(f"damaged backup: {error}", where=str(path)) from error
    return Restored(path, tuple(names), replaced)


def _names(brain: Path) -> Iterator[str]:
    """Names in `kds-brain` and the folders of data in it; those behind links are not listed."""
    for folder in _FOLDERS:
        place = brain / folder
        if place.is_dir() and not (folder and place.is_symlink()):
            prefix = f"{folder}/" if folder else ""
            yield from sorted(f"{prefix}{path.name}" for path in place.iterdir())


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a file. Raises StoreError when it stays busy."""
    with ExitStack() as stack:
        if path.name in _DATABASES and path.exists():
            stack.enter_context(PrivateFile(path).locked(timeout_s=_LOCK_TIMEOUT_S))
            # KDS makes no rollback journal; SQLite deletes the files that one names.
            path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
            connection = stack.enter_context(closing(_connected(path)))
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"cannot be locked: {error}", where=str(path), hint="kds service stop"
                ) from error
            except sqlite3.DatabaseError:
                pass  # damaged: it is backed up byte for byte
        elif path.suffix in (".jsonl", ".yaml", ".json"):
            stack.enter_context(PrivateFile(path).locked(timeout_s=_LOCK_TIMEOUT_S))
        yield


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_TIMEOUT_S, isolation_level=None)
    trust(connection, trusted=False)
    return connection


def _back_up(brain: Path, names: Sequence[str], path: Path) -> Path:
    """Write a backup, durable and read back. Raises StoreError: then there is none."""
    beside = path.with_name(f".{path.name}.tmp")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                copied = {name for name in names if _is_copied(archive, brain, name)}
                for name in names:
                    if name not in copied and not _is_companion(name, copied):
                        archive.write(brain / name, name)
            file.flush()
            os.fsync(file.fileno())
            with zipfile.ZipFile(file) as written:
                if damaged := written.testzip():
                    raise StoreError(f"'{damaged}' was not written whole", where=str(beside))
        beside.replace(path)
    except OSError as error:
        raise failure("back up", path, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return path


def _is_copied(archive: zipfile.ZipFile, brain: Path, name: str) -> bool:
    """Add a whole copy of a database to the archive; False when SQLite cannot read it."""
    if name not in _DATABASES:
        return False
    copy = brain / "backups" / f".{name}.{os.urandom(6).hex()}.tmp"
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE))
        with closing(_connected(brain / name)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        archive.write(copy, name)
    except sqlite3.Error:
        return False
    finally:
        copy.unlink(missing_ok=True)
    return True


def _is_companion(name: str, copied: set[str]) -> bool:
    """Whether a file is part of a copied database, or left over: not backed up by itself."""
    base, _, end = name.rpartition("-")
    return (base in copied and end in ("wal", "shm", "journal")) or bool(
        _LEFTOVER.fullmatch(name.rpartition("/")[2])
    )


def _backup_folder(workspace: Workspace) -> Path:
    folder = workspace.brain / "backups"
    if folder.is_symlink():
        raise StoreError("the folder of backups is a link", where=str(folder), hint="remove it")
    return folder


def _chosen(workspace: Workspace, name: str | None) -> Path:
    made = backups(workspace)
    found = [path for path in made if name in (None, path.stem, path.name, str(path))]
    if found:
        return found[-1]
    if name is None:
        raise ForgetError("there is no backup to restore", where=str(_backup_folder(workspace)))
    known = ", ".join(path.stem for path in made[-5:]) or "there is none"
    raise ForgetError(f"no backup '{name}'", hint=f"backups: {known}")


def _checked(archive: zipfile.ZipFile, path: Path) -> list[str]:
    """The names in a backup, once every byte was read. A project may bring a made-up archive along:
    raises StoreError unless it holds data of KDS only."""
    names = archive.namelist()
    if strange := [name for name in names if kind_of(name) is None]:
        raise StoreError(f"'{strange[0]!r}' in it is not data of KDS", where=str(path))
    if damaged := archive.testzip():
        raise StoreError(f"'{damaged}' in it is damaged", where=str(path))
    return names


def _put_back(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Write one file. Raises StoreError."""
    if path.parent.is_symlink() or path.is_symlink():
        raise StoreError("a link is in its place", where=str(path), hint="remove the link")
    make_private_folder(path.parent)
    with _held(path):
        beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE)
            with os.fdopen(descriptor, "wb") as out, archive.open(name) as content:
                shutil.copyfileobj(content, out)  # no more than the size that the entry names
                out.flush()
                os.fsync(out.fileno())
            for end in ("-wal", "-shm", "-journal") if path.name in _DATABASES else ():
                PrivateFile(path.with_name(path.name + end)).remove()
            beside.replace(path)
        except OSError as error:
            raise failure("restore", path, error) from error
        finally:
            beside.unlink(missing_ok=True)
