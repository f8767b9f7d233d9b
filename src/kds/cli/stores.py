"""What the commands share that work on the memory or the documents: warnings and vectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import kds
from kds.api.embeddings import embed_waiting, load_embedder
from kds.brain.passages.outbox import Outbox
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import EmbeddingModel
from kds.cli.guard import Refusal, complain
from kds.cli.options import find_workspace
from kds.cli.output import fields
from kds.cli.progress import reported

embeddings_option = click.option(
    "--embeddings",
    "embeddings",
    metavar="MODULE:CLASS",
    help="Embedding model of yours.  [default: `embeddings` in the settings, else none]",
)
off_option = click.option(
    "--off", is_flag=True, help="Want no vectors any more; those there are stay."
)


def pass_on(warnings: Sequence[str]) -> None:
    """Tell on stderr what a store found and put right."""
    for warning in warnings:
        complain(warning)


def chosen_embedder(name: str | None, folder: Path | None) -> Embedder | None:
    """Load the model that was named, else the one of the settings, if there is any."""
    chosen = name or kds.load_settings(find_workspace(folder)).recall.embeddings
    return load_embedder(chosen) if chosen else None


def check_off(embeddings: str | None, *, off: bool) -> None:
    """Refuse to make vectors and to want none."""
    if off and embeddings:
        raise Refusal("--off and --embeddings exclude each other", "give one of them")


def make_vectors(
    store: Outbox | None, embeddings: str | None, folder: Path | None, *, off: bool
) -> int:
    """Give what waits its vector, or want none any more; returns how many were made."""
    if off:
        if store is not None:
            store.use_model(None)
        return 0
    embedder = chosen_embedder(embeddings, folder)
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
