"""`kds memory`: the conversation memory of a workspace; how much there is, and its upkeep."""

from collections.abc import Sequence
from typing import Final

import click

from kds.api.session_names import NOTHING
from kds.brain.database.health import Check
from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.session_values import Stats
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.guard import TESTS_FAILED
from kds.cli.memory.memory_search import search
from kds.cli.memory.profile import consent, profile
from kds.cli.memory.session_commands import cleanup, delete, new, rename, show, summarize
from kds.cli.memory.transfer import export, import_
from kds.cli.options import common_options
from kds.cli.output import fields, mebibytes, print_line, print_table, say
from kds.cli.progress import slow
from kds.cli.stores import (
    count_rows,
    embeddings_option,
    looking,
    make_vectors,
    model_dict,
    off_option,
)

EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)


@group(
    "kds memory show",
    "kds memory search 'which port does staging use'",
    "kds memory export last --format markdown",
    closing="More: kds help memory-cli",
)
def memory() -> None:
    """Search, show, export and look after the sessions that are remembered."""


for _command in (
    search, show, new, rename, summarize, delete, export, import_, cleanup, profile, consent,
):  # fmt: skip
    memory.add_command(_command)


@command("kds memory stats --json", of=memory)
@common_options
def stats(*, workspace: Workspace) -> None:
    """Say how much is remembered, where, and how far the vectors are."""
    place = MemoryPlace.of(workspace)
    with looking(place) as store:
        found = store.stats() if store else EMPTY
        given = bool(store and store.profile.consent().given)
    names = "sessions messages tokens chunks summaries size_bytes schema_version"
    models = [model_dict(model) for model in found.models]
    say(
        {"path": str(place), **fields(found, names), "models": models, "profile_consent": given},
        f"{NOTHING}; it would be in {place}"
        if store is None
        else lambda: _print_stats(found, place, consent=given),
    )


@command("kds memory check", of=memory)
@common_options
def check(*, workspace: Workspace) -> int:
    """Examine the whole memory and change nothing; exit code 1 when something is wrong."""
    with looking(MemoryPlace.of(workspace)) as store, slow("examining the memory"):
        found = store.check() if store else Check()
    return _told(found, "the memory is in order")


@command("kds memory rebuild", of=memory)
@common_options
def rebuild(*, workspace: Workspace) -> int:
    """Make the search index anew from the messages; exit code 1 when something stays wrong."""
    with looking(MemoryPlace.of(workspace)) as store, slow("making the search index anew"):
        found = store.rebuild() if store else Check()
    return _told(found, "the search index has been made anew")


@command(
    "kds memory backfill --embeddings langchain_ollama:OllamaEmbeddings",
    "PYTHONPATH=. kds memory backfill --embeddings my_models:small",
    "kds memory backfill --off",
    of=memory,
)
@embeddings_option
@off_option
@common_options
def backfill(*, embeddings: str | None, off: bool, workspace: Workspace) -> None:
    """Give every part of a message that has none its vector, for recall by meaning.

    It goes on where it stopped, after an outage or Ctrl-C. With another model than before, the
    old vectors serve until the new ones are complete.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        make_vectors(store, embeddings, workspace, off=off)
        if store is not None and not asked_json():
            _print_models(store.models())


def _told(found: Check, sound: str) -> int:
    """Tell what is wrong, or that nothing is; the exit code."""
    lines = (*found.problems, *((sound,) if found.sound else ()))
    say(fields(found, "sound problems"), "\n".join(lines))
    return 0 if found.sound else TESTS_FAILED


def _print_stats(found: Stats, place: MemoryPlace, *, consent: bool) -> None:
    rows = [
        *count_rows(found),
        ("size", mebibytes(found.size_bytes)),
        ("profile", "kept, with consent" if consent else "no consent"),
    ]
    print_table(("in the memory", ""), rows)
    click.echo()
    print_line("kept in", f"{place} (schema {found.schema_version})")
    _print_models(found.models)


def _print_models(models: Sequence[EmbeddingModel]) -> None:
    for model in models:
        failed = f", {model.failed:,} given up" if model.failed else ""
        made = f"{model.vectors:,} made, {model.waiting:,} waiting{failed}"
        print_line("vectors", f"{model.name}: {made}; {model.state}")
