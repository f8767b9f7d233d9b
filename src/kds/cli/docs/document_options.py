"""What the document commands share: a store that has to be there, paths and documents as shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.document_place import DocumentPlace
from kds.brain.documents.document_values import Document
from kds.brain.documents.documents import Documents
from kds.brain.workspace import Workspace
from kds.cli.guard import Refusal
from kds.cli.output import fields
from kds.cli.stores import looking

NOTHING: Final = "no documents have been added"


@contextmanager
def opened(workspace: Workspace) -> Iterator[Documents]:
    """Open the documents of a workspace. Raises Refusal when none was ever added."""
    with looking(DocumentPlace.of(workspace)) as store:
        if store is None:
            raise Refusal(NOTHING, "add some: kds docs add PATH")
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
