"""Files that were sent: kept in `kds-brain/uploads/`, and read from there in the background."""

import re
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Final

from kds.api.embeddings import Teller
from kds.brain.documents.store import DocumentPlace
from kds.brain.documents.values import UPLOADS
from kds.brain.errors import KdsError, MessageError
from kds.brain.files import locked, make_private_folder, replace_private
from kds.brain.workspace import Workspace
from kds.documents.indexing import Outcome, Report, add_documents
from kds.readers.reading import readable_kind
from kds.readers.sections import DocumentError

NOTHING: Final = Report(())


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
        self.report = NOTHING
        self.error: KdsError | None = None
        """Why it did not come to its end."""
        self._read, self._ended = read, ended
        self._stopped, self._over = Event(), Event()
        Thread(target=self._run, name="kds-reading", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._over.is_set()

    def wait(self, limit_s: float) -> None:
        """Wait until it has ended, or ``limit_s`` have passed."""
        self._over.wait(limit_s)

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
            self._over.set()

    def _tell(self, _: str, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self._stopped.is_set() and done < total:
            raise StoppedError(f"stopped after {done} of {total} files; what was read is kept")


MOST_CHARS: Final = 120
"""Of a file's name: far below what file systems take, in any script."""

LOCK_S: Final = 5.0

_NUMBERED: Final = re.compile(r"(?P<stem>.+) \(\d+\)(?P<ending>\.\w+)")
_UNSAFE: Final = re.compile(r"[^\w. ()+,=@-]+")


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
            kept.append(keep_upload(workspace, name, content))
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


def keep_upload(workspace: Workspace, name: str, content: bytes) -> Path:
    """Write a file that was sent, and say where: another one of the same name stays beside it.

    Only the last part of ``name`` counts, without signs that mean something to a file system.
    Raises DocumentError for a kind that cannot be read, WorkspaceError and StoreError.
    """
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
    """The name of the file that another one of its name was kept beside; None: it is the first.

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
    documents, path = DocumentPlace.of(workspace), newer.with_name(older)
    with documents.open() as store:
        with locked(path, timeout_s=LOCK_S):
            replace_private(path, newer.read_bytes())
        report = add_documents(store, [path])
        gone = [one.id for one in store.documents() if one.path == str(newer.resolve())]
        store.remove(gone)
        newer.unlink(missing_ok=True)
    return report


def safe_name(name: str) -> str:
    r"""The name under which a file is kept.

    >>> safe_name("../../etc/pass wd.md"), safe_name("C:\\docs\\plan: A.md"), safe_name(".hidden")
    ('pass wd.md', 'plan- A.md', 'hidden')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = _UNSAFE.sub("-", last).strip(" .") or "document"
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:MOST_CHARS]}{dot}{ending[:10]}" if dot else plain[:MOST_CHARS]
