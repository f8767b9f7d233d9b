"""What the commands share that work on the memory or the documents: opening them, and vectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

import kds
from kds.api.embeddings import embed_waiting, load_embedder
from kds.brain.errors import KdsError
from kds.brain.passages.outbox import Outbox
from kds.brain.passages.place import Place
from kds.brain.passages.store import Embedder, PassageStore
from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.session_values import Stats
from kds.brain.workspace import Workspace
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.output import fields, say
from kds.cli.progress import reported

S = TypeVar("S", bound=PassageStore)

embeddings_option = click.option(
    "--embeddings",
    "embeddings",
    metavar="MODULE:CLASS",
    help="Embedding model of yours.  [default: `embeddings` in the settings, else none]",
)
off_option = click.option(
    "--off", is_flag=True, help="Want no vectors any more; those there are stay."
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
    if name:
        return load_embedder(name)
    chosen = kds.load_settings(workspace).recall.embeddings
    return load_embedder(chosen) if chosen else None


def search_embedder(name: str | None, workspace: Workspace) -> Embedder | None:
    """The same for a search: where that of the settings cannot be loaded, words are searched."""
    try:
        return chosen_embedder(name, workspace)
    except KdsError as error:
        if name:
            raise
        complain(f"{error.message}; searching by words alone", error.hint)
        return None


def make_vectors(
    store: Outbox | None, embeddings: str | None, workspace: Workspace, *, off: bool
) -> None:
    """Give what waits its vector, or want none any more; tell how many were made."""
    if off and embeddings:
        raise Refusal("--off and --embeddings exclude each other", "give one of them")
    done = 0
    if off and store is not None:
        store.use_model(None)
    elif not off:
        done = _embedded(store, chosen_embedder(embeddings, workspace))
    models = store.models() if store else ()
    say(
        {"embedded": done, "models": [model_dict(model) for model in models]},
        f"{done:,} vectors made" if done else "there was nothing to do",
    )


def _embedded(store: Outbox | None, embedder: Embedder | None) -> int:
    if embedder is None:
        raise Refusal("no embedding model is configured", "name one: --embeddings MODULE:CLASS")
    if store is None:
        return 0
    store.use_model(embedder.name)
    store.retry_embeddings()
    with reported("embedding") as tell:
        return embed_waiting(store, embedder, tell=tell)


def model_dict(model: EmbeddingModel) -> dict[str, Any]:
    """The JSON form of an embedding model and its vectors."""
    return fields(model, "name dimensions state vectors waiting failed")


def count_rows(found: Stats) -> list[tuple[str, str]]:
    """How much is remembered, as rows of a table."""
    return [
        ("sessions", f"{found.sessions:,}"),
        ("messages", f"{found.messages:,}"),
        ("tokens", f"{found.tokens:,}"),
        ("parts", f"{found.chunks:,}"),
        ("summaries", f"{found.summaries:,}"),
    ]
