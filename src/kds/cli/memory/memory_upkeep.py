"""`kds memory stats|check|rebuild|backfill`: how much there is, and keeping it in order."""

from pathlib import Path
from typing import Any, Final

import click

from kds.api.session_names import NOTHING
from kds.brain.database.health import Check
from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.session_values import Stats
from kds.cli.command import command
from kds.cli.guard import TESTS_FAILED
from kds.cli.memory.memory_options import looking
from kds.cli.options import common_options, find_workspace
from kds.cli.output import fields, print_json, print_line, print_table
from kds.cli.progress import slow
from kds.cli.stores import check_off, embeddings_option, make_vectors, model_dict, off_option

EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)


@command("kds memory stats --json")
@common_options
def stats(*, as_json: bool, workspace: Path | None) -> None:
    """Say how much is remembered, where, and how far the vectors are."""
    place = MemoryPlace.of(find_workspace(workspace))
    with looking(workspace) as store:
        found = store.stats() if store else EMPTY
        given = bool(store and store.profile.consent().given)
    if as_json:
        print_json(_stats_dict(found, place) | {"profile_consent": given})
    elif store is None:
        click.echo(f"{NOTHING}; it would be in {place}")
    else:
        _print_stats(found, place, consent=given)


@command("kds memory check")
@common_options
def check(*, as_json: bool, workspace: Path | None) -> int:
    """Examine the whole memory and change nothing; exit code 1 when something is wrong."""
    with looking(workspace) as store, slow("examining the memory"):
        found = store.check() if store else Check()
    _show_check(found, "the memory is in order", as_json=as_json)
    return 0 if found.sound else TESTS_FAILED


@command("kds memory rebuild")
@common_options
def rebuild(*, as_json: bool, workspace: Path | None) -> int:
    """Make the search index anew from the messages; exit code 1 when something stays wrong."""
    with looking(workspace) as store, slow("making the search index anew"):
        found = store.rebuild() if store else Check()
    _show_check(found, "the search index has been made anew", as_json=as_json)
    return 0 if found.sound else TESTS_FAILED


@command(
    "kds memory backfill --embeddings langchain_ollama:OllamaEmbeddings",
    "PYTHONPATH=. kds memory backfill --embeddings my_models:small",
    "kds memory backfill --off",
)
@embeddings_option
@off_option
@common_options
def backfill(*, embeddings: str | None, off: bool, as_json: bool, workspace: Path | None) -> None:
    """Give every part of a message that has none its vector, for recall by meaning.

    It goes on where it stopped, after an outage or Ctrl-C. With another model than before, the
    old vectors serve until the new ones are complete.
    """
    check_off(embeddings, off=off)
    with looking(workspace) as store:
        done = make_vectors(store, embeddings, workspace, off=off)
        _show_backfill(store, done, as_json=as_json)


def _show_check(found: Check, sound: str, *, as_json: bool) -> None:
    if as_json:
        print_json(fields(found, "sound problems"))
        return
    for problem in found.problems:
        click.echo(problem)
    if found.sound:
        click.echo(sound)


def _show_backfill(store: MemoryStore | None, done: int, *, as_json: bool) -> None:
    models = store.models() if store else ()
    if as_json:
        print_json({"embedded": done, "models": [model_dict(model) for model in models]})
        return
    click.echo(f"{done:,} vectors made" if done else "there was nothing to do")
    for model in models:
        print_line("vectors", _model_line(model))


def _stats_dict(found: Stats, place: MemoryPlace) -> dict[str, Any]:
    names = "sessions messages tokens chunks summaries size_bytes schema_version"
    models = [model_dict(model) for model in found.models]
    return {"path": str(place), **fields(found, names), "models": models}


def _print_stats(found: Stats, place: MemoryPlace, *, consent: bool) -> None:
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
    print_line("kept in", f"{place} (schema {found.schema_version})")
    for model in found.models:
        print_line("vectors", _model_line(model))


def _model_line(model: EmbeddingModel) -> str:
    failed = f", {model.failed:,} given up" if model.failed else ""
    return f"{model.name}: {model.vectors:,} made, {model.waiting:,} waiting{failed}; {model.state}"
