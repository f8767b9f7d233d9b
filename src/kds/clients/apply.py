"""Carrying out a plan with a record of it, and taking everything back (`kds init --undo`).

The record is `kds-brain/init/record.json`, with the files as they were. With it they come back to
the byte; without it each file loses what is KDS's, which its content tells. A cloned project may
bring a record that was made to do harm, so only one that was written here counts (it has a
receipt): any other is treated as if there were none.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from kds.brain.environment import BRAIN, own_folder
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile, failure, make_private_folder
from kds.clients import table
from kds.clients.generated import digest_in, digest_of, is_one_skill
from kds.clients.project import (
    Project,
    read_project_text,
    remove_empty,
    remove_project_file,
    write_project_text,
)
from kds.clients.settings_file import (
    SettingsFile,
    without_codex_server,
    without_lines,
    without_section,
)
from kds.clients.table import Client

LOCK_TIMEOUT_S: Final = 10.0

FileKind = Literal["settings", "ignore", "generated", "toml", "section"]
"""A section of AGENTS.md is only ever taken back: earlier versions wrote one."""

_OUR_FILES: Final[Mapping[str, FileKind]] = {
    table.IGNORE_FILE: "ignore",
    table.CODEX_CONFIG: "toml",
    table.AGENTS_PAGE: "section",
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

    version: Literal[2] = 2
    clients: list[Client] = []
    hook: list[Client] = []
    mcp: list[Client] = []
    """The clients for which each was asked for."""
    files: dict[str, FileRecord] = {}
    folders: list[str] = []
    asked_to_import: bool = False
    """Whether the user has said yes or no to bringing in past sessions."""


class RecordStore:
    """The record, in ``kds-brain/init``."""

    def __init__(self, brain: Path) -> None:
        self.folder = brain / "init"
        self._path = self.folder / "record.json"

    def load(self) -> InitRecord:
        """The record that was written here, else an empty one. Raises StoreError."""
        self._check_folder()
        content = _written_here(self._path)
        if content is None:
            return InitRecord()
        try:
            found = json.loads(content)
            if isinstance(found, dict) and found.get("version") == 1:
                files = {name: {**file, "before": self._copy(file["before"])}
                         for name, file in found.get("files", {}).items()}  # fmt: skip
                found |= {"version": 2, "files": files}
            return InitRecord.model_validate(found)
        except (ValidationError, ValueError, TypeError, AttributeError) as error:
            hint = "move it away: `kds init --undo` then goes by the content of the files"
            where = str(self._path)
            raise StoreError("not a record of kds init", where=where, hint=hint) from error

    def _copy(self, name: str | None) -> str | None:
        """A text of a record of version 1: a file beside it, named by its digest."""
        if name is None:
            return None
        text = PrivateFile(self.folder / Path(name).name).read()
        if text is None or f"{hashlib.sha256(text).hexdigest()[:16]}.before" != name:
            hint = "restore the file from version control"
            raise StoreError("the copy is gone or was changed", where=name, hint=hint)
        return text.decode()

    def is_foreign(self) -> bool:
        """Whether there is a record that was not written here."""
        self._check_folder()
        return PrivateFile(self._path).read() is not None and _written_here(self._path) is None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other runs of `kds init` out. Raises StoreError when one takes too long."""
        self._check_folder()
        make_private_folder(self.folder)
        with PrivateFile(self._path).locked(timeout_s=LOCK_TIMEOUT_S):
            yield

    def save(self, record: InitRecord) -> None:
        """Write the record. Hold the lock."""
        if record.files:
            write_record(self._path, record.model_dump_json(indent=2).encode() + b"\n")
        else:
            PrivateFile(self._path).remove()
            PrivateFile(_receipt(self._path, b"")[0]).remove()
        for copy in self.folder.glob("*.before"):  # of version 1; its text is in the record now
            PrivateFile(copy).remove()

    def leave(self) -> None:
        """Remove the lock and the folder once nothing is recorded. Let go of the lock before."""
        if self._path.exists():
            return
        with suppress(OSError):  # another run holds it (Windows), or the user's files are in it
            self._path.with_name(f"{self._path.name}.lock").unlink(missing_ok=True)
            self.folder.rmdir()

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            hint = "remove the link: a record is kept in the project itself"
            raise StoreError("it is a link", where=str(self.folder), hint=hint)


def write_record(path: Path, content: bytes) -> None:
    """Write a record, and in the user's own folder its receipt: another one may come along with a
    project, and name files for `--undo` to change. Raises StoreError."""
    PrivateFile(path).replace(content)
    receipt, statement = _receipt(path, content)
    try:
        receipt.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise failure("make", receipt.parent, error) from error
    PrivateFile(receipt).replace(statement)


def _written_here(path: Path) -> bytes | None:
    """The content of a record if it is what `write_record` wrote there last. Raises StoreError."""
    content = PrivateFile(path).read()
    if content is not None:
        receipt, statement = _receipt(path, content)
        with suppress(StoreError):
            if PrivateFile(receipt).read() == statement:
                return content
    return None


def _receipt(path: Path, content: bytes) -> tuple[Path, bytes]:
    """Where the receipt of a record is, and what it says."""
    place = str(path.parent.resolve() / path.name)
    name = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()
    said = {"place": place, "sha256": hashlib.sha256(content).hexdigest()}
    return Path(own_folder(), "receipts", name), json.dumps(said).encode()


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
    """Write the files of an undo plan, and forget the record. Hold the store.

    A record that was not written here stays: its texts may be the user's only ones.
    """
    record, foreign = store.load(), store.is_foreign()
    for file in files:
        if file.changes:
            _write(project, file)
    _without_empty(project, record.folders)
    if not foreign:
        store.save(InitRecord())


def ignored_lines(
    project: Project, *, local: bool
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Our groups of lines for `.gitignore`, each with the lines that would do as well.

    Rules are the user's own work and are not ignored.
    """
    brain = project.name(project.workspace.brain)
    yield (
        (f"{brain}/*", f"!{brain}/rules/", f"!{brain}/english/"),
        tuple(f"{slash}{name}" for name in (brain, f"{brain}/", BRAIN, f"{BRAIN}/", f"{BRAIN}/*")
              for slash in ("", "/")),
    )  # fmt: skip
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
        planned.append(
            PlannedFile(name, kind, current, _without_ours(project, name, kind, current))
        )
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
            left = settings.text
        case "ignore":
            groups = ignored_lines(project, local=True)
            left = without_lines(text, [line for lines, _ in groups for line in lines])
        case "section":
            left = without_section(text)
        case "toml":
            left = without_codex_server(text, where)
    bare = SettingsFile(where, left).is_bare() if kind == "settings" else not left.strip()
    return None if bare and left != text and not existed else left


def _write(project: Project, file: PlannedFile) -> None:
    path = project.path(file.name)
    if file.after is not None:
        write_project_text(path, file.after)
        return
    remove_project_file(path)
    if file.kind == "generated":
        remove_empty(path.parent)


def _without_empty(project: Project, folders: list[str]) -> list[str]:
    """Remove the folders that are empty, and return those that are left."""
    for name in sorted(folders, key=len, reverse=True):
        remove_empty(project.path(name))
    return [name for name in folders if (project.folder / name).is_dir()]


def _digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
