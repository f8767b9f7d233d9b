"""What the document commands share: opening the store, showing paths and outcomes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

import kds
from kds.api.embeddings import load_embedder
from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.document_values import Document
from kds.brain.passages.store import Embedder
from kds.cli.guard import Refusal, complain
from kds.cli.options import find_workspace
from kds.documents.place import documents_if_any, documents_made

NOTHING: Final = "no documents have been added"

embeddings_option = click.option(
    "--embeddings",
    "embeddings",
    metavar="MODULE:CLASS",
    help="Embedding model of yours.  [default: `embeddings` in the settings, else none]",
)
document_argument = click.argument("name", metavar="DOC")


@contextmanager
def looking(folder: Path | None) -> Iterator[DocumentStore | None]:
    """Open the documents of a workspace to look at them; None where none was ever added."""
    with documents_if_any(find_workspace(folder)) as store:
        if store is not None:
            pass_warnings_on(store)
        yield store


@contextmanager
def opened(folder: Path | None) -> Iterator[DocumentStore]:
    """Open the documents of a workspace. Raises Refusal when none was ever added."""
    with looking(folder) as store:
        if store is None:
            raise Refusal(NOTHING, "add some: kds docs add PATH")
        yield store


@contextmanager
def changing(folder: Path | None) -> Iterator[DocumentStore]:
    """Open the documents of a workspace, the store made if there is none."""
    with documents_made(find_workspace(folder)) as store:
        pass_warnings_on(store)
        yield store


def pass_warnings_on(store: DocumentStore) -> None:
    """Tell on stderr what the store found and put right."""
    for warning in store.warnings:
        complain(warning)


def chosen_embedder(name: str | None, folder: Path | None) -> Embedder | None:
    """Load the model that was named, else the one of the settings, if there is any."""
    chosen = name or kds.load_settings(find_workspace(folder)).recall.embeddings
    return load_embedder(chosen) if chosen else None


def shown_path(path: str | Path) -> str:
    """Return a path as it is read most easily from here."""
    whole = Path(path)
    here = Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def document_dict(document: Document) -> dict[str, Any]:
    """The JSON form of a document."""
    return {
        "id": document.id,
        "title": document.title,
        "path": document.path,
        "kind": document.kind,
        "added_at": moment(document.added_at),
        "modified": moment(document.modified),
        "size": document.size,
        "digest": document.digest,
        "sections": document.sections,
        "chunks": document.chunks,
        "pages": document.pages,
    }


def moment(at: Any) -> str:
    """A UTC moment to the second: `2025-11-03T09:00:00Z`."""
    return str(at.isoformat(timespec="seconds")).replace("+00:00", "Z")


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "page"), counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "s")
