"""Files that were sent: kept in `kds-brain/uploads/`, and read in a process of their own.

Reading takes the processor for seconds a megabyte. In a thread it would hold the interpreter, and
with it every page and hook; a process of low priority holds nobody up, and can be ended at once.
"""

import asyncio
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Final

from kds.brain.documents.store import DocumentPlace
from kds.brain.documents.values import UPLOADS
from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile, make_private_folder
from kds.brain.workspace import Workspace
from kds.documents.indexing import Outcome, Report, add_documents
from kds.readers.reading import readable_kind
from kds.readers.text import DocumentError

COMMAND: Final = (sys.executable, "-P", "-m", "kds.documents.uploads")
"""Reads files into the store; see `main`."""

NICE: Final = 5
"""How far it stands back from what answers people."""

MOST_CHARS: Final = 120
"""Of a file's name: far below what file systems take, in any script."""

LOCK_S: Final = 5.0

_UNSAFE: Final = re.compile(r"[^\w. ()+,=@-]+")


class ReadingJob:
    """Keeps and reads files in the background; may be looked at and stopped from any thread."""

    def __init__(
        self, workspace: Workspace, files: Iterable[tuple[str, bytes]],
        ended: "Callable[[ReadingJob], None]",
    ) -> None:  # fmt: skip
        """Begin; the event loop, which this is called from, calls ``ended``."""
        self.running = True
        """Whether ``ended`` has not been called."""
        self.done = self.total = 0
        """Files that were read, of how many; 0: it is not known yet."""
        self.report = Report()
        self.error: KdsError | None = None
        """Why it did not come to its end."""
        self._workspace, self._ended = workspace, ended
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._run, args=[files], name="kds-reading", daemon=True)
        self._thread.start()

    def wait(self, limit_s: float) -> None:
        """Wait until it has ended, or ``limit_s`` have passed."""
        self._thread.join(limit_s)

    def stop(self) -> None:
        """Read no further: the file that is being read is left as it was."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _run(self, files: Iterable[tuple[str, bytes]]) -> None:
        try:
            self.report = self._added(files)
        except KdsError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001  # the page says it; the service goes on
            self.error = KdsError(f"internal error: {type(error).__name__}")
        finally:
            with suppress(RuntimeError):  # the service has ended meanwhile
                self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        self.running = False
        self._ended(self)

    def _added(self, files: Iterable[tuple[str, bytes]]) -> Report:
        """Keep the files and read them. A bad file is an outcome; copies that were not read go.

        Raises KdsError when it does not come to its end.
        """
        documents = DocumentPlace.of(self._workspace)
        documents.prepare()
        kept, refused = list[Path](), list[Outcome]()
        for name, content in files:
            try:
                kept.append(_keep_upload(self._workspace, name, content))
            except DocumentError as error:
                refused.append(Outcome(error.path, "failed", error=error))
        try:
            report = self._read(kept) if kept else Report()
        finally:
            with documents.open() as store:
                was_read = {one.path for one in store.documents()}
            for path in kept:
                if str(path.resolve()) not in was_read:
                    drop_upload(self._workspace, path)  # a copy of what says nothing is of no use
        return replace(report, outcomes=(*refused, *report.outcomes))

    def _read(self, paths: Sequence[Path]) -> Report:
        told: object = None
        with subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        ) as self._process:  # fmt: skip
            if self._stopped:
                self._process.kill()
            into, out = self._process.stdin, self._process.stdout
            assert into is not None
            assert out is not None
            with suppress(OSError, EOFError, pickle.UnpicklingError):  # it was ended while it wrote
                into.write(pickle.dumps((self._workspace, [*paths])))
                into.close()
                while not isinstance(told, Report | KdsError):
                    told = pickle.load(out)
                    if isinstance(told, tuple):
                        self.done, self.total = told
        if isinstance(told, Report):
            return told
        if self._stopped:
            read = f"after {self.done} of {self.total} files; what was read is kept"
            raise KdsError(f"stopped {read if self.total else 'before a file was read'}")
        if isinstance(told, KdsError):
            raise told
        raise KdsError(f"reading has ended with code {self._process.returncode}")


def main() -> None:
    """Read files into the store of a workspace, both of which stdin names.

    To stdout go, pickled, how many were read of how many, again and again, and at last the Report,
    or the KdsError that there is in its place.
    """
    if hasattr(os, "nice"):
        os.nice(NICE)
    workspace, paths = pickle.load(sys.stdin.buffer)

    def tell(what: object) -> None:
        sys.stdout.buffer.write(pickle.dumps(what))
        sys.stdout.flush()  # nobody there any more: this ends it, too

    try:
        with DocumentPlace.of(workspace).open() as store:
            tell(add_documents(store, paths, tell=lambda _, done, total: tell((done, total))))
    except KdsError as error:
        tell(KdsError(error.message, where=error.where, hint=error.hint))


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
        with PrivateFile(path).locked(timeout_s=LOCK_S):
            if not path.exists() or path.read_bytes() == content:
                PrivateFile(path).replace(content)
                return path
    raise AssertionError("numbers have no end")


def safe_name(name: str) -> str:
    r"""Return the name under which a file is kept: its last part, without special characters.

    >>> safe_name("../../etc/pass wd.md"), safe_name("C:\\docs\\plan: A.md"), safe_name(".hidden")
    ('pass wd.md', 'plan- A.md', 'hidden')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = _UNSAFE.sub("-", last).strip(" .") or "document"
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:MOST_CHARS]}{dot}{ending[:10]}" if dot else plain[:MOST_CHARS]


if __name__ == "__main__":
    main()
