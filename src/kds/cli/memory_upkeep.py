"""`kds memory stats|check|rebuild|backfill`: how much there is, and keeping it in order."""

from pathlib import Path
from typing import Any, Final

import click

from kds.api.embeddings import embed_waiting
from kds.api.memory_place import memory_path
from kds.api.session_names import NOTHING
from kds.brain.database.health import Check
from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.session_values import Stats
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.cli.guard import TESTS_FAILED, Refusal
from kds.cli.memory_options import chosen_embedder, embeddings_option, looking
from kds.cli.options import find_workspace, json_option, workspace_option
from kds.cli.output import print_json, print_line, print_table
from kds.cli.progress import reported

EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)


@click.command(epilog="\b\nExample:\n  kds memory stats --json")
@json_option
@workspace_option
def stats(*, as_json: bool, workspace: Path | None) -> None:
    """Say how much is remembered, where, and how far the vectors are."""
    path = memory_path(find_workspace(workspace))
    with looking(workspace) as store:
        found = store.stats() if store else EMPTY
        given = bool(store and store.profile.consent().given)
    if as_json:
        print_json(_stats_dict(found, path) | {"profile_consent": given})
    elif store is None:
        click.echo(f"{NOTHING}; it would be in {path}")
    else:
        _print_stats(found, path, consent=given)


@click.command(epilog="\b\nExample:\n  kds memory check")
@json_option
@workspace_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    """Examine the whole memory and change nothing; exit code 1 when something is wrong."""
    with looking(workspace) as store:
        found = store.check() if store else Check()
    _show_check(found, "the memory is in order", as_json=as_json)
    ctx.exit(0 if found.sound else TESTS_FAILED)


@click.command(epilog="\b\nExample:\n  kds memory rebuild")
@json_option
@workspace_option
@click.pass_context
def rebuild(ctx: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    """Make the search index anew from the messages; exit code 1 when something stays wrong."""
    with looking(workspace) as store:
        found = store.rebuild() if store else Check()
    _show_check(found, "the search index has been made anew", as_json=as_json)
    ctx.exit(0 if found.sound else TESTS_FAILED)


@click.command(
    epilog="""\b
Examples:
  kds memory backfill --embeddings langchain_ollama:OllamaEmbeddings
  PYTHONPATH=. kds memory backfill --embeddings my_models:small
  kds memory backfill --off"""
)
@embeddings_option
@click.option("--off", is_flag=True, help="Want no vectors any more; those there are stay.")
@json_option
@workspace_option
def backfill(*, embeddings: str | None, off: bool, as_json: bool, workspace: Path | None) -> None:
    """Give every part of a message that has none its vector, for recall by meaning.

    It goes on where it stopped, after an outage or Ctrl-C. With another model than before, the
    old vectors serve until the new ones are complete.
    """
    if off and embeddings:
        raise Refusal("--off and --embeddings exclude each other", "give one of them")
    with looking(workspace) as store:
        if off:
            if store is not None:
                store.use_model(None)
            _show_backfill(store, 0, as_json=as_json)
            return
        embedder = chosen_embedder(embeddings, workspace)
        if embedder is None:
            raise Refusal("no embedding model is configured", "name one: --embeddings MODULE:CLASS")
        done = 0
        if store is not None:
            store.use_model(embedder.name)
            store.retry_embeddings()
            with reported("embedding") as tell:
                done = embed_waiting(store, embedder, tell=tell)
        _show_backfill(store, done, as_json=as_json)


def _show_check(found: Check, sound: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"sound": found.sound, "problems": list(found.problems)})
        return
    for problem in found.problems:
        click.echo(problem)
    if found.sound:
        click.echo(sound)


def _show_backfill(store: SqliteStore | None, done: int, *, as_json: bool) -> None:
    models = store.models() if store else ()
    if as_json:
        print_json({"embedded": done, "models": [_model_dict(model) for model in models]})
        return
    click.echo(f"{done:,} vectors made" if done else "there was nothing to do")
    for model in models:
        print_line("vectors", _model_line(model))


def _stats_dict(found: Stats, path: Path) -> dict[str, Any]:
    return {
        "path": str(path),
        "sessions": found.sessions,
        "messages": found.messages,
        "tokens": found.tokens,
        "chunks": found.chunks,
        "summaries": found.summaries,
        "size_bytes": found.size_bytes,
        "schema_version": found.schema_version,
        "models": [_model_dict(model) for model in found.models],
    }


def _model_dict(model: EmbeddingModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "dimensions": model.dimensions,
        "state": model.state,
        "vectors": model.vectors,
        "waiting": model.waiting,
        "failed": model.failed,
    }


def _print_stats(found: Stats, path: Path, *, consent: bool) -> None:
    rows = [
        ("sessions", f"{found.sessions:,}"),
        ("messages", f"{found.messages:,}"),
        ("tokens", f"{found.tokens:,}"),
        ("parts", f"{found.chunks:,}"),
        ("summaries", f"{found.summaries:,}"),
        ("size", f"{found.size_bytes / 2**20:,.1f} MiB"),
        ("profile", "kept, with consent" if consent else "no consent"),
    ]
    print_table(("in the memory", ""), rows)
    click.echo()
    print_line("file", f"{path} (schema {found.schema_version})")
    for model in found.models:
        print_line("vectors", _model_line(model))


def _model_line(model: EmbeddingModel) -> str:
    failed = f", {model.failed:,} given up" if model.failed else ""
    return f"{model.name}: {model.vectors:,} made, {model.waiting:,} waiting{failed}; {model.state}"
