"""Opening the memory and the documents for a command, and the embedding model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

import kds
from kds.api.embeddings import load_embedder
from kds.brain.errors import KdsError
from kds.brain.passages.place import Place
from kds.brain.passages.store import Embedder, PassageStore
from kds.brain.workspace import Workspace
from kds.cli.guard import complain, pass_on

S = TypeVar("S", bound=PassageStore)

embeddings_option = click.option(
    "--embeddings",
    metavar="MODULE:CLASS",
    help="Embedding model of yours.  [default: `embeddings` in the settings, else none]",
)


@contextmanager
def looking(place: Place[S]) -> Iterator[S | None]:
    """Open a store to look at it, and pass on its warnings; None where nothing was ever kept."""
    with place.if_any() as store:
        pass_on(store.warnings if store else ())
        yield store


@contextmanager
def changing(place: Place[S]) -> Iterator[S]:
    """Open a store, made if there is none, and pass on its warnings.

    Raises ExposedError when git would commit what is stored there.
    """
    place.prepare()
    with place.open() as store:
        pass_on(store.warnings)
        yield store


def chosen_embedder(name: str | None, workspace: Workspace) -> Embedder | None:
    """Load the model that was named, else the one of the settings, if there is any."""
    name = name or kds.load_settings(workspace).recall.embeddings
    return load_embedder(name) if name else None


def search_embedder(name: str | None, workspace: Workspace) -> Embedder | None:
    """The same for a search: where that of the settings cannot be loaded, words are searched."""
    try:
        return chosen_embedder(name, workspace)
    except KdsError as error:
        if name:
            raise
        complain(f"{error.message}; searching by words alone", error.hint)
        return None
