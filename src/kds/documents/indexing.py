"""Bringing files, folders and uploads into the store: only what is new or changed is read.

Each file is a transaction of its own: one that cannot be read stops no other, and stopping
halfway keeps what was read so far. Uploads are kept in `kds-brain/uploads/` and read from there.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Final, Literal

from kds.api.embeddings import Teller
from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import UPLOADS, Document
from kds.brain.errors import KdsError, MessageError, StoreError
from kds.brain.files import locked, make_private_folder, replace_private
from kds.brain.workspace import Workspace
from kds.readers.reading import file_source, kind_of, read_document, read_source, readable_kind
from kds.readers.text import DocumentError, document_errors

State = Literal["added", "replaced", "unchanged", "failed", "gone", "removed"]

JUST_WRITTEN: Final = timedelta(seconds=2)
"""A file read this soon after it was written may have changed again within the resolution of its
file system's clock: then its content decides."""

PASSED_OVER: Final = frozenset(
    "node_modules __pycache__ venv site-packages kds-brain __MACOSX".split()
)
"""Folders of tools: their files are not the documents of a project."""

MOST_CHARS: Final = 120
"""Of a file's name: far below what file systems take, in any script."""

LOCK_S: Final = 5.0

_NUMBERED: Final = re.compile(r"(?P<stem>.+) \(\d+\)(?P<ending>\.\w+)")
_UNSAFE: Final = re.compile(r"[^\w. ()+,=@-]+")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file."""

    path: Path
    state: State
    document: Document | None = None
    error: KdsError | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all files."""

    outcomes: tuple[Outcome, ...] = ()

    def of(self, state: State) -> tuple[Outcome, ...]:
        """Return the files in one state."""
        return tuple(one for one in self.outcomes if one.state == state)


def add_documents(
    store: Documents, paths: Sequence[Path], *, prune: bool = False, tell: Teller | None = None
) -> Report:
    """Add files, and folders with all below them. Raises StoreError; a bad file is an outcome.

    Documents whose files have gone from these places are told, and removed with ``prune``.
    """
    found = list(dict.fromkeys(one for path in paths for one in files_of(path)))
    known = {document.path: document for document in store.documents()}
    current = store.current_paths()
    outcomes: list[Outcome] = []
    for done, one in enumerate(found, start=1):
        if isinstance(one, DocumentError):
            outcomes.append(Outcome(one.path, "failed", error=one))
        else:
            outcomes.append(_add(store, one, known.get(str(one)), current.get(str(one), False)))
        if tell is not None:
            tell(f"reading {outcomes[-1].path.name}", done, len(found))
    roots = [path.absolute() for path in paths] + [Path(os.path.realpath(path)) for path in paths]
    gone = [
        one
        for one in known.values()
        if any(map(Path(one.path).is_relative_to, roots)) and not Path(one.path).exists()
    ]
    if prune and gone:
        store.remove([one.id for one in gone])
    state: State = "removed" if prune else "gone"
    outcomes += (Outcome(Path(one.path), state, document=one) for one in gone)
    if any(one.state == "replaced" for one in outcomes):
        store.tidy()
    return Report(tuple(outcomes))


def files_of(path: Path) -> Iterator[Path | DocumentError]:
    """Yield a file, or the readable files below a folder by name, and what cannot be looked at.

    Links in it are not followed: in a cloned project they may lead anywhere.
    """
    try:
        whole = path.resolve(strict=True)
        is_folder = whole.is_dir()
    except FileNotFoundError:
        yield DocumentError(path, "there is no such file or folder", "check the path")
        return
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a zero in the name
        yield DocumentError(path, f"cannot be read: {error}", "check the path and its rights")
        return
    if not is_folder:
        yield whole
        return
    errors: list[OSError] = []
    for folder, folders, files in os.walk(whole, onerror=errors.append):
        folders[:] = sorted(name for name in set(folders) - PASSED_OVER if name[0] != ".")
        below = (Path(folder, name) for name in sorted(files) if name[0] != ".")
        yield from (it for it in below if kind_of(it) is not None and not it.is_symlink())
    for one in errors:
        reason = f"cannot be read: {one.strerror or type(one).__name__}"
        place = Path(one.filename or whole)
        yield DocumentError(place, reason, "check the folder and its permissions")


def _add(store: Documents, path: Path, known: Document | None, fresh: bool) -> Outcome:
    """Read a file into the store. Raises StoreError; whatever the file does is an outcome."""
    try:
        with document_errors(path, "cannot be read", "save it anew, or leave it out"):
            return _read(store, path, known, fresh)
    except StoreError:
        raise
    except KdsError as error:  # of the file, or a library that is not installed
        told = KdsError(error.message, where=str(path), hint=error.hint)
        return Outcome(path, "failed", known, told)


def _read(store: Documents, path: Path, known: Document | None, fresh: bool) -> Outcome:
    if known is not None and fresh:
        now = file_source(path)
        same = (now.size, now.modified) == (known.size, known.modified)
        if same and known.added_at - known.modified > JUST_WRITTEN:
            return Outcome(path, "unchanged", known)
    data, source = read_source(path)
    if known is not None and fresh and known.digest == source.digest:
        store.touch(known, source)
        return Outcome(path, "unchanged", known)
    content = read_document(path, data)
    stored = store.put(content, source)
    return Outcome(path, "replaced" if known else "added", stored, notes=content.notes)


class StoppedError(KdsError):
    """The user has stopped it; what was read until then is kept."""


class ReadingJob:
    """Reads in a thread of its own, and may be looked at and stopped from any other."""

    def __init__(
        self, read: Callable[[Teller], Report], ended: "Callable[[ReadingJob], None]"
    ) -> None:
        """Begin to ``read``; ``ended`` is called behind the end, in the same thread."""
        self.done = self.total = 0
        """Files that were read, of how many; 0: it is not known yet."""
        self.report = Report()
        self.error: KdsError | None = None
        """Why it did not come to its end."""
        self._read, self._ended = read, ended
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="kds-reading", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def wait(self, limit_s: float) -> None:
        """Wait until it has ended, or ``limit_s`` have passed."""
        self._thread.join(limit_s)

    def stop(self) -> None:
        """Read no further file."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            self.report = self._read(self._tell)
        except KdsError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001  # the page says it; the service goes on
            self.error = KdsError(f"internal error: {type(error).__name__}")
        finally:
            self._ended(self)

    def _tell(self, _: str, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self._stopped.is_set() and done < total:
            raise StoppedError(f"stopped after {done} of {total} files; what was read is kept")


def add_uploads(
    workspace: Workspace,
    files: Iterable[tuple[str, bytes]],
    *places: Path,
    tell: Teller | None = None,
) -> Report:
    """Keep files that were sent, and read them and what stands at ``places``.

    Raises WorkspaceError, StoreError and what ``tell`` raises; a bad file is an outcome. What was
    not read is not kept.
    """
    documents = DocumentPlace.of(workspace)
    documents.prepare()
    kept, refused = [*places], []
    for name, content in files:
        try:
            kept.append(_keep_upload(workspace, name, content))
        except DocumentError as error:
            refused.append(Outcome(error.path, "failed", error=error))
    with documents.open() as store:
        try:
            report = add_documents(store, kept, tell=tell)
        finally:
            read = {one.path for one in store.documents()}
            for path in kept:
                if str(path.resolve()) not in read:
                    drop_upload(workspace, path)  # a copy of what says nothing is of no use
    return Report((*refused, *report.outcomes))


def drop_upload(workspace: Workspace, path: Path) -> None:
    """Remove the copy of a file that was sent; any other file stays."""
    if path.parent.resolve() == workspace.brain.resolve() / UPLOADS:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def _keep_upload(workspace: Workspace, name: str, content: bytes) -> Path:
    """Write a file that was sent, and say where: another one of the same name stays beside it."""
    plain = Path(safe_name(name))
    readable_kind(plain)
    workspace.ensure()
    folder = workspace.brain / UPLOADS
    make_private_folder(folder)
    for number in count(1):
        path = folder / (f"{plain.stem} ({number}){plain.suffix}" if number > 1 else plain.name)
        with locked(path, timeout_s=LOCK_S):
            if not path.exists() or path.read_bytes() == content:
                replace_private(path, content)
                return path
    raise AssertionError("numbers have no end")


def first_version(name: str) -> str | None:
    """Return the name of the file that another one of its name was kept beside, if it was.

    >>> first_version("plan (2).md"), first_version("plan.md")
    ('plan.md', None)
    """
    found = _NUMBERED.fullmatch(name)
    return found and found["stem"] + found["ending"]


def take_as_version(workspace: Workspace, name: str) -> Report:
    """Let a file that was kept beside another one of its name take the place of that one."""
    newer = workspace.brain / UPLOADS / safe_name(name)
    older = first_version(newer.name)
    if older is None or not newer.is_file():
        raise MessageError(f"there is no newer version '{name}'", hint="send the file again")
    path = newer.with_name(older)
    with DocumentPlace.of(workspace).open() as store:
        with locked(path, timeout_s=LOCK_S):
            replace_private(path, newer.read_bytes())
        report = add_documents(store, [path])
        store.remove([one.id for one in store.documents() if one.path == str(newer.resolve())])
        newer.unlink(missing_ok=True)
    return report


def safe_name(name: str) -> str:
    r"""Return the name under which a file is kept: its last part, without special characters.

    >>> safe_name("../../etc/pass wd.md"), safe_name("C:\\docs\\plan: A.md"), safe_name(".hidden")
    ('pass wd.md', 'plan- A.md', 'hidden')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = _UNSAFE.sub("-", last).strip(" .") or "document"
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:MOST_CHARS]}{dot}{ending[:10]}" if dot else plain[:MOST_CHARS]
