"""What the document commands share: opening the store, showing paths and outcomes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from kds.brain.documents.document_store import DocumentPlace
from kds.brain.documents.document_values import Document
from kds.brain.documents.documents import Documents
from kds.cli.guard import Refusal
from kds.cli.options import find_workspace
from kds.cli.output import fields
from kds.cli.stores import pass_on

NOTHING: Final = "no documents have been added"

document_argument = click.argument("name", metavar="DOC")


@contextmanager
def looking(folder: Path | None) -> Iterator[Documents | None]:
    """Open the documents of a workspace to look at them; None where none was ever added."""
    with DocumentPlace.of(find_workspace(folder)).if_any() as store:
        if store is not None:
            pass_on(store.warnings)
        yield store


@contextmanager
def opened(folder: Path | None) -> Iterator[Documents]:
    """Open the documents of a workspace. Raises Refusal when none was ever added."""
    with looking(folder) as store:
        if store is None:
            raise Refusal(NOTHING, "add some: kds docs add PATH")
        yield store


@contextmanager
def changing(folder: Path | None) -> Iterator[Documents]:
    """Open the documents of a workspace, the store made if there is none."""
    with DocumentPlace.of(find_workspace(folder)).open() as store:
        pass_on(store.warnings)
        yield store


def shown_path(path: str | Path) -> str:
    """Return a path as it is read most easily from here."""
    whole = Path(path)
    here = Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def document_dict(document: Document) -> dict[str, Any]:
    """The JSON form of a document."""
    names = "id title path kind added_at modified size digest sections chunks pages"
    return fields(document, names)
