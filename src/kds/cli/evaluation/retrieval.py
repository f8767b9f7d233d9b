"""`kds eval retrieval`: recall on conversations with known answers."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

import kds
from kds.api.embeddings import embed_waiting, load_embedder
from kds.api.settings_lines import write_values
from kds.brain.passages.fusion import Weights
from kds.brain.passages.recalled import RecallSettings, recall_settings
from kds.brain.passages.store import Embedder
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal
from kds.cli.options import common_options
from kds.cli.output import decimal, percent, print_table, say
from kds.cli.progress import reported, tracked
from kds.evaluation.retrieval_data import RETRIEVAL_FORM, RetrievalSet, read_retrieval
from kds.evaluation.retrieval_scoring import (
    POOL,
    Ranking,
    RetrievalScore,
    Retrieved,
    retrieve,
    score_retrieval,
    store_conversation,
)
from kds.evaluation.retrieval_tuning import Tuning, tune

_FORM_LINES: Final = RETRIEVAL_FORM.replace(' "messages"', '\n   "messages"').replace(
    ' "queries"', '\n   "queries"'
)
_SECTION: Final = "recall"


@command(
    "kds eval retrieval memories.json",
    "kds eval retrieval memories.json --embeddings my_models:Small --json",
    "kds eval retrieval memories.json --tune --write",
    closing=f"""The file:
  {_FORM_LINES}""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--embeddings", metavar="NAME", help="Search by meaning too: MODULE:CLASS of a "
              "langchain-core Embeddings, or 'minilm'.")  # fmt: skip
@click.option("--tune", "tuning", is_flag=True, help="Search the weights on half of the queries "
              "for NDCG@5, and report the other half.")  # fmt: skip
@click.option("--write", is_flag=True, help="With --tune: put the weights into the settings.")
@common_options
def retrieval(
    *, file: Path, embeddings: str | None, tuning: bool, write: bool, workspace: Workspace
) -> None:
    """Score recall on FILE: recall@5, recall@10, NDCG@5, by category, and the time.

    The conversations are stored in a temporary folder, and each query is put to its own, with
    the settings of the workspace. Times leave out the embedding model.
    """
    if write and not tuning:
        raise Refusal("--write has nothing to write", "add --tune")
    data = read_retrieval(file)
    embedder = load_embedder(embeddings) if embeddings else None
    settings = recall_settings(kds.load_settings(workspace).recall)
    retrieved = _retrieve_all(data, embedder, settings, pool=POOL if tuning else None)
    tuned = (
        tune(retrieved, present=settings.weights, dense=embedder is not None) if tuning else None
    )
    if write and tuned is not None:
        _write(workspace, tuned.weights)
    score, more = score_retrieval(retrieved), {"tuning": tuned.as_dict()} if tuned else {}
    say(score.as_dict() | more, lambda: _show(score, tuned, settings.weights))


def _retrieve_all(
    data: RetrievalSet, embedder: Embedder | None, settings: RecallSettings, *, pool: int | None
) -> list[Retrieved]:
    with (
        tempfile.TemporaryDirectory(prefix="kds-retrieval-") as folder,
        SqliteStore(Path(folder) / SqliteStore.file_name) as store,
    ):
        for conversation in tracked(data.conversations, "storing"):
            store_conversation(store, conversation)
        if embedder is not None:
            with reported("embedding") as tell:
                embed_waiting(store, embedder, tell=tell)
        return [
            retrieve(store, query, settings=settings, embedder=embedder, pool=pool)
            for query in tracked(data.queries, "asking")
        ]


def _write(place: Workspace, weights: Weights) -> None:
    place.ensure()
    values = {
        "rerank_alpha": weights.alpha,
        "rerank_beta": weights.beta,
        "rerank_gamma": weights.gamma,
    }
    write_values(place.settings_path, _SECTION, values)


def _show(score: RetrievalScore, tuned: Tuning | None, present: Weights) -> None:
    print_table(("queries", "recall@5", "recall@10", "NDCG@5", ""), _rows(score))
    click.echo(f"ms a query: half below {decimal(score.ms_p50)}, 95 % {decimal(score.ms_p95)}")
    if tuned is not None:
        click.echo()
        print_table(("weights", "recall@5", "recall@10", "NDCG@5", "half"), _tuned(tuned, present))


def _rows(score: RetrievalScore) -> Iterable[Sequence[str]]:
    yield _cells(str(score.overall.queries), score.overall, "all")
    for name, one in score.by_category.items():
        yield _cells(str(one.queries), one, f"category {name}")


def _tuned(tuned: Tuning, present: Weights) -> Iterable[Sequence[str]]:
    yield _cells(_named(tuned.weights), tuned.searched_on, "searched on")
    yield _cells(_named(tuned.weights), tuned.other_half, "the other")
    yield _cells(_named(present), tuned.before, "the other, as it is set")


def _cells(name: str, one: Ranking, last: str) -> Sequence[str]:
    return (
        name,
        percent(one.recall_at_5),
        percent(one.recall_at_10),
        percent(one.ndcg_at_5),
        last,
    )


def _named(weights: Weights) -> str:
    return f"{weights.alpha:g} / {weights.beta:g} / {weights.gamma:g}"
