"""Bringing files and folders into the store: only what is new or changed is read.

Each file is a transaction of its own: one that cannot be read stops no other, and stopping
halfway keeps what was read so far.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kds.api.embeddings import Teller
from kds.brain.documents.store import Documents
from kds.brain.documents.values import Document
from kds.brain.errors import KdsError, StoreError
from kds.readers.reading import kind_of, read_document, read_source
from kds.readers.text import document_errors

State = Literal["added", "replaced", "unchanged", "failed"]

PASSED_OVER: Final = frozenset(
    "node_modules __pycache__ venv site-packages kds-brain __MACOSX".split()
)
"""Folders of tools: their files are not the documents of a project."""


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


def add_documents(store: Documents, paths: Sequence[Path], *, tell: Teller | None = None) -> Report:
    """Add files, and folders with all below them. Raises StoreError; a bad file is an outcome."""
    known = {document.path: document for document in store.documents()}
    current = store.current_paths()

    def add(path: Path) -> Outcome:
        return _add(store, path, known.get(str(path)), current.get(str(path), False))

    outcomes = each_file(paths, add, tell)
    if any(one.state == "replaced" for one in outcomes):
        store.tidy()
    return Report(tuple(outcomes))


def each_file(
    paths: Sequence[Path], add: Callable[[Path], Outcome], tell: Teller | None = None
) -> list[Outcome]:
    """Add each file, and the readable ones below each folder by name.

    Links in a folder are not followed: in a cloned project they may lead anywhere.
    """
    found = list(dict.fromkeys(one for path in paths for one in _files(path)))
    outcomes: list[Outcome] = []
    for done, one in enumerate(found, start=1):
        outcomes.append(one if isinstance(one, Outcome) else add(one))
        if tell is not None:
            tell(f"reading {outcomes[-1].path.name}", done, len(found))
    return outcomes


def _files(path: Path) -> Iterator[Path | Outcome]:
    """Yield files, and what cannot be looked at."""
    try:
        whole = path.resolve(strict=True)
        is_folder = whole.is_dir()
    except FileNotFoundError:
        yield _failed(path, "there is no such file or folder", "check the path")
        return
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a zero in the name
        yield _failed(path, f"cannot be read: {error}", "check the path and its rights")
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
        yield _failed(Path(one.filename or whole), reason, "check the folder and its permissions")


def _failed(path: Path, message: str, hint: str | None, known: Document | None = None) -> Outcome:
    return Outcome(path, "failed", known, KdsError(message, where=str(path), hint=hint))


def _add(store: Documents, path: Path, known: Document | None, fresh: bool) -> Outcome:
    """Read a file into the store. Raises StoreError; whatever the file does is an outcome."""
    try:
        with document_errors(path, "cannot be read", "save it anew, or leave it out"):
            data, source = read_source(path)
            if known is not None and fresh and known.digest == source.digest:
                return Outcome(path, "unchanged", known)
            content = read_document(path, data)
            stored = store.put(content, source)
            return Outcome(path, "replaced" if known else "added", stored, notes=content.notes)
    except StoreError:
        raise
    except KdsError as error:  # of the file, or a library that is not installed
        return _failed(path, error.message, error.hint, known)
