"""Carrying out a plan with a record of it, and taking everything back (`kds init --undo`).

The record has the files as they were. With it they come back to the byte; without it each file
loses what is KDS's, which its content tells. It is kept in the user's own folder: one in the
project might come along with a clone, and be made to do harm.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from kds.brain.environment import BRAIN, own_folder
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile, failure
from kds.clients import table
from kds.clients.generated import digest_in, digest_of, is_one_skill
from kds.clients.project import Project, read_project_text, remove_empty, write_project_text
from kds.clients.settings_file import SettingsFile, without_codex_server, without_lines
from kds.clients.table import Client

LOCK_TIMEOUT_S: Final = 10.0

FileKind = Literal["settings", "ignore", "generated", "toml"]

_OUR_FILES: Final[Mapping[str, FileKind]] = {
    table.IGNORE_FILE: "ignore",
    table.CODEX_CONFIG: "toml",
    table.CURSOR_RULE: "generated",
    table.OPENCODE_PLUGIN: "generated",
    **dict.fromkeys(table.MCP_FILES, "settings"),
    **dict.fromkeys((f"{one}/kds/SKILL.md" for one in table.SKILL_FOLDERS), "generated"),
}
"""Beside those of hooks."""


class PlannedFile(NamedTuple):
    """One file of the project before and after; None if there is none."""

    name: str
    kind: FileKind
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether anything is to be written or removed."""
        return self.before != self.after


class FileRecord(BaseModel):
    """One file that KDS wrote: the text that was there (None: no file), the digest of what is."""

    kind: FileKind
    before: str | None
    after: str | None


class InitRecord(BaseModel):
    """All files of a project that KDS wrote, by their place in it, and folders that it made."""

    clients: list[Client] = []
    hook: list[Client] = []
    mcp: list[Client] = []
    """The clients for which each was asked for."""
    files: dict[str, FileRecord] = {}
    folders: list[str] = []
    asked_to_import: bool = False
    """Whether the user has said yes or no to bringing in past sessions."""


class RecordStore:
    """The record of a project, in the folder ``init`` of the user's own folder."""

    def __init__(self, project: Project) -> None:
        place = str(project.workspace.root.resolve())  # its kds-brain may be a link to another's
        name = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()
        self._folder = Path(own_folder(), "init")
        self._path = self._folder / f"{name[:32]}.json"

    def load(self) -> InitRecord:
        """The record, else an empty one. Raises StoreError."""
        content = PrivateFile(self._path).read()
        try:
            return InitRecord() if content is None else InitRecord.model_validate_json(content)
        except ValidationError as error:
            hint = "move it away: `kds init --undo` then goes by the content of the files"
            where = str(self._path)
            raise StoreError("not a record of kds init", where=where, hint=hint) from error

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other runs of `kds init` out. Raises StoreError when one takes too long."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise failure("make", self._folder, error) from error
        with PrivateFile(self._folder / "records").locked(timeout_s=LOCK_TIMEOUT_S):
            yield

    def save(self, record: InitRecord) -> None:
        """Write the record; one of no file goes. Hold the lock."""
        file = PrivateFile(self._path)
        if record.files:
            file.replace(record.model_dump_json(indent=2).encode() + b"\n")
        else:
            file.remove()


def carry_out(
    project: Project, files: Iterable[PlannedFile], store: RecordStore, record: InitRecord
) -> None:
    """Write the files of a plan. Hold the store.

    The record comes first: a crash in between leaves files that `--undo` tells by their content.
    Raises ProjectFileError for a file that cannot be written, StoreError for the record.
    """
    changed = [file for file in files if file.changes]
    if changed and not record.files:  # an earlier setup without a record of ours
        for file in _plan_by_content(project):
            if file.changes:
                _note(project, file._replace(after=file.before), record)
    for file in changed:
        _note(project, file, record)
    for name in record.folders:
        project.path(name)  # raises for a link before anything is written
    store.save(record)
    for file in changed:
        _write(project, file)
    kept = _without_empty(project, record.folders)
    if kept != record.folders:
        record.folders = kept
        store.save(record)


def plan_undo(project: Project, record: InitRecord) -> list[PlannedFile]:
    """Plan how every file goes back to what it was; nothing is written.

    A file that was changed since only loses our entries; so does every file if there is no
    record. Raises ConfigError for a file that cannot be worked with.
    """
    for name in record.folders:
        project.path(name)
    if not record.files:
        return _plan_by_content(project)
    planned = []
    for name, known in record.files.items():
        current, after = project.read(name), known.before
        if known.after != _digest(current):  # what the user removed stays away
            existed = known.before is not None
            after = _without_ours(project, name, known.kind, current, existed=existed)
        planned.append(PlannedFile(name, known.kind, current, after))
    return planned


def undo(project: Project, files: Iterable[PlannedFile], store: RecordStore) -> None:
    """Write the files of an undo plan, and forget the record. Hold the store."""
    record = store.load()
    for file in files:
        if file.changes:
            _write(project, file)
    _without_empty(project, record.folders)
    store.save(InitRecord())


def ignored_lines(
    project: Project, *, local: bool
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Our groups of lines for `.gitignore`, each with the lines that would do as well.

    Rules are the user's own work and are not ignored.
    """
    brain = project.name(project.workspace.brain)
    alike = (brain, f"{brain}/", BRAIN, f"{BRAIN}/", f"{BRAIN}/*")
    lines = f"{brain}/*", f"!{brain}/rules/", f"!{brain}/english/"
    yield lines, (*alike, *(f"/{name}" for name in alike))
    if local:
        name = table.CLAUDE_LOCAL
        yield (name,), (".claude", ".claude/", "/.claude", "/.claude/", f"/{name}")


def _note(project: Project, file: PlannedFile, record: InitRecord) -> None:
    """Record a file that is about to be written, with what was there before KDS."""
    known = record.files.get(file.name)
    if known is not None and known.after == _digest(file.before):
        before = known.before
    else:
        existed = known is not None and known.before is not None
        before = _without_ours(project, file.name, file.kind, file.before, existed=existed)
    after = _digest(file.after)
    if before is None and after is None:
        record.files.pop(file.name, None)
        return
    record.files[file.name] = FileRecord(kind=file.kind, before=before, after=after)
    for folder in project.path(file.name).parents:
        if folder == project.folder or folder.exists():
            break
        record.folders.append(project.name(folder))


def _plan_by_content(project: Project) -> list[PlannedFile]:
    kinds: dict[str, FileKind] = dict.fromkeys(project.hook_files(), "settings")
    planned = []
    for name, kind in (kinds | dict(_OUR_FILES)).items():
        path = project.path(name)
        current = read_project_text(path) if path.exists() else None  # its folder may be a file
        if current is None or (name.endswith("SKILL.md") and not is_one_skill(current)):
            continue
        left = _without_ours(project, name, kind, current)
        planned.append(PlannedFile(name, kind, current, left))
    return planned


def _without_ours(
    project: Project, name: str, kind: FileKind, text: str | None, *, existed: bool = False
) -> str | None:
    """A text without what KDS put into it; None if nothing else was in it.

    ``existed``: there was a file before KDS came, so one stays, if empty.
    """
    if text is None:
        return None
    where = str(project.path(name))
    match kind:
        case "generated":
            return None if digest_in(text) == digest_of(text) else text
        case "settings":
            settings = SettingsFile(where, text)
            if text.strip():
                settings.take_out_all()
            left, is_bare = settings.text, settings.is_bare()
        case "ignore":
            groups = ignored_lines(project, local=True)
            left = without_lines(text, [line for lines, _ in groups for line in lines])
            is_bare = not left.strip()
        case "toml":
            left = without_codex_server(text, where)
            is_bare = not left.strip()
    return None if is_bare and left != text and not existed else left


def _write(project: Project, file: PlannedFile) -> None:
    path = project.path(file.name)
    write_project_text(path, file.after)
    if file.after is None and file.kind == "generated":
        remove_empty(path.parent)


def _without_empty(project: Project, folders: list[str]) -> list[str]:
    """Remove the folders that are empty, and return those that are left."""
    for name in sorted(folders, key=len, reverse=True):
        remove_empty(project.path(name))
    return [name for name in folders if (project.folder / name).is_dir()]


def _digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
