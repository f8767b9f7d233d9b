"""Forget what a workspace remembers, after a backup that can be restored.

The backup is a plain zip file in `kds-brain/backups`, with the names that the files have in
`kds-brain`. While it is made and files are deleted, other processes cannot write to them, so a
process that is killed leaves the data, the backup, or both. A running service opens its databases
anew at its next request.
"""

import os
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import PRIVATE, PrivateFile, failure, make_private_folder
from kds.brain.store.migrations import trust
from kds.brain.workspace import Workspace, shared_database

_DATABASE: Final = r"(-journal|-wal|-shm|\.(bad|backup)-[\w.-]+)?"
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "context": ("conversation context", r"conversation-context\.jsonl(\.bad)?"),
    "conversations": (
        "conversations of their own",
        r"conversations/[a-z0-9-]*-[0-9a-f]{16}\.jsonl(\.waiting)?(\.bad)?",
    ),
    "memory": ("long memory and profile", rf"memory\.db{_DATABASE}"),
    "documents": ("indexed documents", rf"documents\.db{_DATABASE}|uploads/[^/\\]+"),
    "learned": (
        "taught examples, uses of skills",
        r"learned\.yaml|learning\.jsonl(\.bad)?|skills-used\.jsonl",
    ),
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
_DAMAGED: Final = (BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
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
        held = {one: locks.enter_context(_held(workspace.brain / one)) for one in found.files}
        found = survey(workspace, keep=keep)  # again: now nobody can write
        stamp = clock().strftime("%Y%m%dT%H%M%S%fZ")
        backup = _back_up(workspace.brain, found.files, held, folder / f"forgotten-{stamp}.zip")
        for name in found.files:
            PrivateFile(workspace.brain / name).remove()
            if "/" in name:  # the lock's name is that of the conversation
                PrivateFile(workspace.brain / f"{name}.lock").remove()
    return Report(found, backup)


def backups(workspace: Workspace) -> tuple[Path, ...]:
    """The backups of a workspace, oldest first."""
    return tuple(sorted(_backup_folder(workspace).glob("forgotten-*.zip")))


def restore(workspace: Workspace, name: str | None = None) -> tuple[Path, tuple[str, ...]]:
    """Bring back the files of a backup, the newest or the one called ``name``; returns both.

    Raises ForgetError when one of them is there again, or there is no such backup; StoreError for
    a damaged one, and for one with other files: a project may bring a made-up archive along.
    """
    made = backups(workspace)
    path = next(
        (one for one in reversed(made) if name in (None, one.stem, one.name, str(one))), None
    )
    if path is None:
        known = ", ".join(one.stem for one in made[-5:]) or "there is none"
        raise ForgetError(
            f"no backup '{name}'" if name else "there is no backup", hint=f"backups: {known}"
        )
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _SAFE), "rb") as file, ZipFile(file) as archive:
            names = sorted(archive.namelist(), reverse=True)  # a database behind its journal
            if strange := [one for one in names if kind_of(one) is None]:
                raise StoreError(f"'{strange[0]!r}' in it is not data of KDS", where=str(path))
            if damaged := archive.testzip():
                raise StoreError(f"'{damaged}' in it is damaged", where=str(path))
            names = [one for one in names if kind_of(one) != "cache"]  # made again when needed
            if newer := [one for one in names if os.path.lexists(workspace.brain / one)]:
                hint = f"kds forget --yes backs it up; then kds forget --restore {path.stem}"
                told = f"there is newer data: {', '.join(newer[:3])}"
                raise ForgetError(told, where=str(workspace.brain), hint=hint)
            workspace.ensure()
            for one in names:
                make_private_folder((workspace.brain / one).parent)
                PrivateFile(workspace.brain / one).replace(archive.read(one))
    except _DAMAGED as error:
        raise StoreError(f"damaged backup: {error}", where=str(path)) from error
    return path, tuple(names)


def _names(brain: Path) -> Iterator[str]:
    """Names in `kds-brain` and the folders of data in it; those behind links are not listed."""
    for folder in _FOLDERS:
        place = brain / folder
        if place.is_dir() and not (folder and place.is_symlink()):
            prefix = f"{folder}/" if folder else ""
            yield from sorted(f"{prefix}{path.name}" for path in place.iterdir())


@contextmanager
def _held(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Keep other processes from writing to a file; yields the connection to a sound database.

    Raises StoreError when it stays busy.
    """
    connection = None
    with ExitStack() as stack:
        if path.name in _DATABASES and path.exists():
            stack.enter_context(PrivateFile(path).locked(timeout_s=_LOCK_TIMEOUT_S))
            # KDS makes no rollback journal; SQLite deletes the files that one names.
            path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
            connection = stack.enter_context(
                closing(sqlite3.connect(path, timeout=_LOCK_TIMEOUT_S, isolation_level=None))
            )
            trust(connection, trusted=False)
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"cannot be locked: {error}", where=str(path), hint="kds service stop"
                ) from error
            except sqlite3.DatabaseError:
                connection = None  # damaged: it is backed up byte for byte
        elif path.suffix in (".jsonl", ".yaml", ".json"):
            stack.enter_context(PrivateFile(path).locked(timeout_s=_LOCK_TIMEOUT_S))
        yield connection


def _back_up(
    brain: Path, names: Sequence[str], held: Mapping[str, sqlite3.Connection | None], path: Path
) -> Path:
    """Write a backup, durable and read back. Raises StoreError: then there is none."""
    beside = path.with_name(f".{path.name}.tmp")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE)
        with os.fdopen(descriptor, "w+b") as file:
            with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
                for name in names:
                    connection, database = held.get(name), re.sub(r"-(wal|shm|journal)$", "", name)
                    if connection is not None:
                        archive.writestr(name, connection.serialize())  # with what its WAL holds
                    elif not (held.get(database) or _LEFTOVER.fullmatch(Path(name).name)):
                        archive.write(brain / name, name)
            file.flush()
            os.fsync(file.fileno())
            with ZipFile(file) as written:
                if damaged := written.testzip():
                    raise StoreError(f"'{damaged}' was not written whole", where=str(beside))
        beside.replace(path)
    except OSError as error:
        raise failure("back up", path, error) from error
    except sqlite3.Error as error:
        raise StoreError(f"cannot be backed up: {error}", where=str(path)) from error
    finally:
        beside.unlink(missing_ok=True)
    return path


def _backup_folder(workspace: Workspace) -> Path:
    folder = workspace.brain / "backups"
    if folder.is_symlink():
        raise StoreError("the folder of backups is a link", where=str(folder), hint="remove it")
    return folder
