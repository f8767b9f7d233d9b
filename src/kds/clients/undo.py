"""Carrying out a plan with a record of it, and taking everything back (`kds init --undo`)."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds.clients.generated.mark import digest_in, digest_of
from kds.clients.generated.standing_rules import without_section
from kds.clients.generated.writing_files import leftovers
from kds.clients.installation import ignored_lines
from kds.clients.planning import PlannedFile
from kds.clients.project import MCP_FILES, SKILL_FOLDERS, Project
from kds.clients.record import SINGLE_FILES, FileKind, FileRecord, InitRecord, RecordStore, digest
from kds.clients.settings.codexconfig import without_server
from kds.clients.settings.ignorefile import without_lines
from kds.clients.settings.jsontext import KeyPath
from kds.clients.settings.projectfile import (
    read_project_text,
    remove_project_file,
    write_project_text,
)
from kds.clients.settings.settingsfile import SettingsFile


def carry_out(
    project: Project, files: Iterable[PlannedFile], store: RecordStore, record: InitRecord
) -> None:
    """Write the files of a plan. Hold the store.

    The record comes first: a crash in between leaves files that `--undo` tells by their
    content. Raises ProjectFileError for a file that cannot be written, StoreError for the
    record.
    """
    if record.is_foreign:
        _note_anew(project, store, record)
    changed = [file for file in files if file.changes]
    for file in changed:
        _note(project, file, store, record)
    _check_folders(project, record.folders)
    store.save(record)
    for file in changed:
        _write(project, file)
    kept = _without_empty(project, record.folders)
    if kept != record.folders:
        record.folders = kept
        store.save(record)


def plan_undo(project: Project, record: InitRecord, store: RecordStore) -> list[PlannedFile]:
    """Say how every file goes back to what it was; nothing is written.

    A file that was changed since only loses our entries, and so does every file when the record
    was not written here. Without a record the files are told by their content, and one that was
    made for us may stay, empty. Raises ConfigError for a file that cannot be worked with,
    StoreError for a copy that is gone.
    """
    _check_folders(project, record.folders)
    if not record.files:
        return _plan_by_content(project)
    return [_back(project, name, known, store) for name, known in record.files.items()]


def undo(project: Project, files: Sequence[PlannedFile], store: RecordStore) -> None:
    """Write the files of an undo plan, and forget the record. Hold the store.

    A record that was not written here stays: its copies may be the user's only ones.
    """
    record = store.load()
    for file in files:
        if file.changes:
            _write(project, file)
    _without_empty(project, record.folders)
    if not record.is_foreign:
        store.save(InitRecord())


def _note_anew(project: Project, store: RecordStore, record: InitRecord) -> None:
    """Have a record of the files as they are here, for one that was not written here."""
    for name, known in list(record.files.items()):
        text = read_project_text(project.path(name))
        _note(project, PlannedFile(name, known.kind, text, text, tuple(known.made)), store, record)


def _note(project: Project, file: PlannedFile, store: RecordStore, record: InitRecord) -> None:
    known = record.files.get(file.name)
    before = _before(project, file, known, store)
    after = None if file.after is None else digest(file.after.encode())
    if before is None and after is None:
        record.files.pop(file.name, None)
        return
    record.files[file.name] = FileRecord(
        kind=file.kind, before=before, after=after, made=list(file.made)
    )
    for folder in project.path(file.name).parents:
        if folder == project.folder or folder.exists():
            break
        record.folders.append(project.name(folder))


def _before(
    project: Project, file: PlannedFile, known: FileRecord | None, store: RecordStore
) -> str | None:
    """The name of the copy of what was there before KDS came, or None."""
    if known is not None and known.after == _digest(file.before):
        return known.before
    text = file.before
    if known is not None and text is not None:
        text = _without_ours(project, file.name, known, text)
    return None if text is None else store.keep(text.encode())


def _back(project: Project, name: str, known: FileRecord, store: RecordStore) -> PlannedFile:
    current = read_project_text(project.path(name))
    if known.after == _digest(current):
        restored = None if known.before is None else store.copy(known.before).decode()
        return PlannedFile(name, known.kind, current, restored)
    if current is None:  # what somebody removed stays away
        return PlannedFile(name, known.kind, None, None)
    return PlannedFile(name, known.kind, current, _without_ours(project, name, known, current))


def _without_ours(project: Project, name: str, known: FileRecord, text: str) -> str | None:
    """A text without what KDS put into it; None when the file was made for that alone."""
    left = _stripped(project, name, known.kind, text, known.made)
    if known.before is None and left != text and _holds_nothing(name, known, left):
        return None
    return left


def _holds_nothing(name: str, known: FileRecord, text: str | None) -> bool:
    """Whether a file that we made has become empty."""
    if text is None:
        return True
    if known.kind == "settings":
        return SettingsFile(name, text, list(known.made)).is_bare()
    return known.kind in _PLAIN and not text.strip()


_PLAIN: Final[frozenset[FileKind]] = frozenset(("ignore", "toml", "section"))
"""Texts with a part of ours in them."""


def _plan_by_content(project: Project) -> list[PlannedFile]:
    files = []
    kinds: dict[str, FileKind] = dict.fromkeys((*project.hook_files(), *MCP_FILES), "settings")
    for name, kind in (kinds | dict(SINGLE_FILES)).items():
        path = project.path(name)
        current = read_project_text(path) if path.exists() else None  # a file may be its folder
        if current is not None:
            after = _stripped(project, name, kind, current, None)
            files.append(PlannedFile(name, kind, current, after))
    for folder in SKILL_FOLDERS:
        for change in leftovers(sorted((project.folder / folder).glob("*/SKILL.md"))):
            after = change.old if change.action == "keep" else None
            files.append(PlannedFile(project.name(change.path), "generated", change.old, after))
    return files


def _stripped(
    project: Project, name: str, kind: FileKind, text: str, made: list[KeyPath] | None
) -> str | None:
    """A text without what KDS put into it."""
    if kind == "generated":
        return None if digest_in(text) == digest_of(text) else text
    if kind == "ignore":
        groups = ignored_lines(project, local=True)
        return without_lines(text, [line for lines, _ in groups for line in lines])
    if kind == "toml":
        return without_server(text, str(project.path(name)))
    if kind == "section":
        return without_section(text)
    if not text.strip():
        return text
    settings = SettingsFile(str(project.path(name)), text)
    settings.take_out_all(made)
    return settings.text


def _write(project: Project, file: PlannedFile) -> None:
    path = project.path(file.name)
    if file.after is not None:
        write_project_text(path, file.after)
        return
    remove_project_file(path)
    if file.kind == "generated":
        _remove_empty(path.parent)


def _check_folders(project: Project, folders: Iterable[str]) -> None:
    """Raise ProjectFileError for one that a link takes elsewhere, before anything is written."""
    for name in folders:
        project.path(name)


def _without_empty(project: Project, folders: Sequence[str]) -> list[str]:
    """Remove the folders that are empty, and return those that are there still."""
    for name in sorted(folders, key=len, reverse=True):
        _remove_empty(project.path(name))
    return [name for name in folders if (project.folder / name).is_dir()]


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # the user keeps files of their own in it
        folder.rmdir()


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text.encode())
