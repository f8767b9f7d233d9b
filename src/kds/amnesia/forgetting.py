"""Amnesia: forgetting what was learned about an application, with a way back.

`survey` says what would go, `forget` puts it away and deletes it, `restore` brings it back. While
a backup is made and its files are deleted, no other process can write to them: nothing is lost in
between, and a process that is killed leaves the data, the backup, or both.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.amnesia.backup import (
    Backup,
    backups_dir,
    digest_of,
    extract,
    list_backups,
    verify,
    write_backup,
)
from kds.amnesia.database import HeldDatabase, held
from kds.amnesia.inventory import (
    BACKUPS_DIR,
    DATABASES,
    KINDS,
    Survey,
    data_files,
    is_companion,
    kind_of,
    survey,
)
from kds.amnesia.tenant import ON_SERVER, HeldText, newer_on_server, put_on_server, texts_on_server
from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError, StoreError
from kds.brain.private_file import failure, locked, make_private_folder, remove_private
from kds.brain.workspace import Workspace

Held = HeldDatabase | HeldText

LOCK_TIMEOUT_S: Final = 10.0
"""How long a file may be busy: a write holds its lock for milliseconds."""


class AmnesiaError(KdsError):
    """Nothing was forgotten, or nothing restored; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was forgotten: the counts before and after, and where the backup is."""

    before: Survey
    after: Survey
    backup: Path | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back, and the backup that was made of what stood in its place."""

    backup: Backup
    files: tuple[str, ...]
    before: Path | None = None

    def as_dict(self) -> dict[str, object]:
        """The same as JSON has it."""
        return {
            "backup": self.backup.as_dict(),
            "restored": list(self.files),
            "present_kept_in": str(self.before) if self.before else None,
        }


def forget(workspace: Workspace, *, keep: Sequence[str] = (), clock: Clock = utc_now) -> Report:
    """Back up what the workspace remembers, and delete it; but for the kinds to ``keep``.

    Bytes go too, from files that a running service has open as well. What the service learns
    afterwards is new. Raises AmnesiaError for an unknown kind, StoreError when a file is busy or
    the backup cannot be made: then everything is as it was.
    """
    if unknown := [one for one in keep if one not in KINDS]:
        raise AmnesiaError(f"no kind '{unknown[0]}'", hint=f"kinds: {', '.join(KINDS)}")
    _sweep(workspace)
    before = survey(workspace, keep=keep)
    if before.is_empty:
        return Report(before, before, None)
    with ExitStack() as locks:
        databases = _lock(workspace, before, locks)
        # Again, under the locks: what was written meanwhile belongs to the backup.
        before = survey(workspace, keep=keep)
        locks.enter_context(locked(backups_dir(workspace), timeout_s=LOCK_TIMEOUT_S))
        backup = _back_up(workspace, before, databases, clock)
        notes = tuple(_delete(workspace, before, databases))
    return Report(before, survey(workspace, keep=keep), backup, notes)


def restore(workspace: Workspace, name: str | None = None, *, force: bool = False) -> Restored:
    """Bring back what a backup holds: that of ``name``, a path, or the newest.

    With ``force`` what stands in its place is forgotten first, with a backup of its own. Raises
    AmnesiaError when there is newer data, or no such backup; StoreError when it is damaged.
    """
    backup = _chosen(workspace, name)
    verify(backup)
    newer = [*_newer(workspace, backup), *newer_on_server(workspace, backup.files)]
    made = None
    if newer and not force:
        shown = ", ".join(newer[:3]) + (f" and {len(newer) - 3} more" if len(newer) > 3 else "")
        raise AmnesiaError(
            f"there is newer data: {shown}",
            where=str(workspace.brain),
            hint=f"kds amnesia restore {backup.name} --force puts it away first",
        )
    if newer:
        kinds = {kind_of(one) for one in backup.files}
        made = forget(workspace, keep=[one for one in KINDS if one not in kinds]).backup
    workspace.ensure()
    files = tuple(one for one in backup.files if _put_back(workspace, backup, one))
    return Restored(backup, files, made)


def remove_backup(workspace: Workspace, name: str) -> Backup:
    """Delete a backup for good, and what a run that was killed left of its own.

    Raises AmnesiaError when there is none of that name.
    """
    backup = _chosen(workspace, name)
    remove_private(backup.path)
    _sweep(workspace)
    return backup


def _lock(workspace: Workspace, found: Survey, locks: ExitStack) -> Mapping[str, Held]:
    """Keep all others from writing, in the order of the names: two of us never wait in a ring."""
    databases: dict[str, Held] = {}
    on_server = texts_on_server(workspace)
    for name in sorted(file for item in found.items for file in item.files):
        path = workspace.brain / name
        if name in DATABASES:
            databases[name] = locks.enter_context(held(path))
        elif name in on_server:
            databases[name] = on_server[name]
        elif _is_shared(name):
            locks.enter_context(locked(path, timeout_s=LOCK_TIMEOUT_S))
    return databases


def _back_up(
    workspace: Workspace, found: Survey, databases: Mapping[str, Held], clock: Clock
) -> Path:
    copies: list[Path] = []
    folder = backups_dir(workspace)
    make_private_folder(folder)

    def sources() -> Iterator[tuple[str, Path]]:
        for name in (file for item in found.items for file in item.files):
            database = databases.get(name)
            if database is not None and database.is_readable:
                copy = folder / f".{Path(name).name}.{os.urandom(6).hex()}.tmp"
                copies.append(copy)
                database.copy_to(copy)
                yield name, copy
            elif not is_companion(name) or _is_part_of_damage(name, databases):
                yield name, workspace.brain / name

    try:
        counts: dict[str, Mapping[str, int]] = {
            item.kind: item.counts for item in found.items if item.files
        }
        return write_backup(workspace, sources(), counts, now=clock()).path
    finally:
        for copy in copies:
            copy.unlink(missing_ok=True)


def _sweep(workspace: Workspace) -> None:
    """Remove what a run left in the backups that was killed; one that lives is waited for."""
    folder = backups_dir(workspace)
    if not folder.is_dir():
        return
    with locked(folder, timeout_s=LOCK_TIMEOUT_S):
        for left in folder.glob(".*.tmp"):
            remove_private(left)


def _delete(workspace: Workspace, found: Survey, databases: Mapping[str, Held]) -> Iterator[str]:
    """Delete file by file; what is to be said of some of them."""
    for name in (file for item in found.items for file in item.files):
        if name in databases:
            if not databases[name].take_away():
                yield f"{name} is gone; its last bytes go when the process that reads it has ended"
        else:
            remove_private(workspace.brain / name)
            if "/" in name:  # its name spells that of the conversation
                remove_private(workspace.brain / f"{name}.lock")


def _is_shared(name: str) -> bool:
    """Whether processes take turns at a file: at all but caches and what was set aside."""
    set_aside = name.endswith(".bad") or any(name.startswith(f"{one}.") for one in DATABASES)
    return kind_of(name) != "cache" and not is_companion(name) and not set_aside


def _is_part_of_damage(name: str, databases: Mapping[str, Held]) -> bool:
    """The log of a database that SQLite cannot read is part of what may be saved of it."""
    owner = next((one for one in databases if name.startswith(f"{one}-")), None)
    return owner is not None and not databases[owner].is_readable and not name.endswith("-shm")


def _chosen(workspace: Workspace, name: str | None) -> Backup:
    present = list_backups(workspace)
    if name is None:
        usable = [one for one in present if one.problem is None]
        if not usable:
            raise AmnesiaError(
                "there is no backup to restore",
                where=str(workspace.brain / BACKUPS_DIR),
                hint="one is made when something is forgotten: kds amnesia",
            )
        return usable[-1]
    found = [one for one in present if name in (one.name, one.path.name, str(one.path))]
    if not found:
        raise AmnesiaError(f"no backup '{name}'", hint="see `kds amnesia backups`")
    return found[0]


def _newer(workspace: Workspace, backup: Backup) -> list[str]:
    """Files in the place of those of the backup that say something else, and something at all."""
    present, links = data_files(workspace)
    there = {name for files in present.values() for name in files}
    counts = {item.kind: item.counts for item in survey(workspace).items}
    brain = workspace.brain
    found = [name for name in backup.files if name in links or (brain / name).parent.is_symlink()]
    for name, digest in backup.files.items():
        if name not in there or kind_of(name) == "cache":
            continue
        if name in DATABASES and not any(counts[DATABASES[name][0]].values()):
            continue
        path = workspace.brain / name
        if path.stat().st_size and digest_of(path) != digest:
            found.append(name)
    return found


def _put_back(workspace: Workspace, backup: Backup, name: str) -> bool:
    """Put one file back; False when it is there already."""
    if name.startswith(ON_SERVER):
        return put_on_server(workspace, name, lambda target: extract(backup, name, target))
    path = workspace.brain / name
    if path.parent.is_symlink() or path.is_symlink():
        raise StoreError("a link stands in its place", where=str(path), hint="remove the link")
    make_private_folder(path.parent)
    if name in DATABASES:
        with held(path) as database:
            return _swap_in(backup, name, path, database)
    with locked(path, timeout_s=LOCK_TIMEOUT_S) if _is_shared(name) else nullcontext():
        return _swap_in(backup, name, path, None)


def _swap_in(backup: Backup, name: str, path: Path, database: HeldDatabase | None) -> bool:
    if path.exists() and digest_of(path) == backup.files[name]:
        return False
    beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        extract(backup, name, beside)
        if database is not None:
            database.take_away()
        beside.replace(path)
    except OSError as error:
        raise failure("restore", path, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return True
