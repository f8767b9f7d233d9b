"""`kds db upgrade|check|stats`: the tables on the server, whether all is well, and how much."""

from collections.abc import Mapping
from typing import Any, Final

import click

from kds.brain.postgres.inspection import ServerSizes, ServerState, sizes_of, state_of
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.schema import STEPS
from kds.brain.postgres.upgrade import upgrade as upgrade_tables
from kds.brain.postgres.upgrade import version
from kds.brain.sessions.session_values import Stats
from kds.brain.shared_database import SharedDatabase
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.database import texts
from kds.cli.database.named_server import named_database, opened
from kds.cli.guard import TESTS_FAILED, complain
from kds.cli.options import common_options
from kds.cli.output import asked_json, fields, print_json, print_line, print_table, tell
from kds.cli.progress import slow
from kds.cli.stores import model_dict

INDEXES_SHOWN: Final = 8
"""The largest; `--json` has them all."""


@command("kds db upgrade", "kds db upgrade --check")
@click.option("--check", "only_check", is_flag=True,
              help="Only tell; exit code 1 when there is something to do.")  # fmt: skip
@common_options
def upgrade(*, only_check: bool, workspace: Workspace) -> int:
    """Make the tables on the server, or bring them to what this KDS needs.

    Services of the version before go on working meanwhile; several upgrades at once wait for one
    another.
    """
    named = named_database(workspace)
    with opened(named) as server, slow("upgrading the database"):
        if only_check:
            before, after = version(server), len(STEPS)
        else:
            before, after = upgrade_tables(server)
    if asked_json():
        print_json({"database": str(named), "before": before, "after": max(before, after)})
    elif before >= after:
        click.echo(f"nothing to do: the tables of {named} are of version {before}")
    elif only_check:
        click.echo(f"the tables of {named} are of version {before}; this KDS needs {after}")
    else:
        click.echo(f"the tables of {named} went from version {before} to {after}")
    return TESTS_FAILED if only_check and before < after else 0


@command("kds db check --json")
@common_options
def check(*, workspace: Workspace) -> int:
    """Examine the server, the role, the tables and what you have there; change nothing.

    Exit code 1 when something is wrong; a role that may do too much is only warned of.
    """
    named = named_database(workspace)
    with opened(named) as server, slow("examining the database"):
        state = state_of(server)
        problems = list(state.problems)
        if not problems:
            problems += _own_problems(named)
    if asked_json():
        print_json(_state_dict(state, named) | {"problems": problems})
    else:
        _print_state(state, named)
        for problem in problems:
            click.echo(problem)
        if not problems:
            click.echo("the database is in order")
    for warning in state.warnings:
        complain(warning)
    return TESTS_FAILED if problems else 0


@command("kds db stats")
@common_options
def stats(*, workspace: Workspace) -> None:
    """Say how much you have on the server, and how large and busy the database is."""
    named = named_database(workspace)
    with opened(named) as server, slow("asking the database"):
        with PostgresStore.of(named) as store:
            own = store.stats()
        sizes, kept = sizes_of(server), texts.counts(named)
    tell(_stats_dict(own, kept, sizes, named), lambda: _print_stats(own, kept, sizes, named))


def _own_problems(named: SharedDatabase) -> tuple[str, ...]:
    with PostgresStore.of(named) as store:
        return (*store.check().problems, *texts.problems(named))


def _state_dict(state: ServerState, named: SharedDatabase) -> dict[str, Any]:
    names = "version vector steps role superuser standby"
    return {
        "database": str(named),
        **fields(state, names),
        "needed": len(STEPS),
        "warnings": list(state.warnings),
    }


def _print_state(state: ServerState, named: SharedDatabase) -> None:
    print_line("database", str(named))
    vector = f"pgvector {state.vector}" if state.vector else "no pgvector"
    print_line("server", f"PostgreSQL {state.version}, {vector}")
    print_line("tables", f"version {state.steps}; this KDS needs {len(STEPS)}")
    print_line("role", state.role)
    print_line("tenant", " / ".join(named.tenant))


def _stats_dict(
    own: Stats, kept: Mapping[str, int], sizes: ServerSizes, named: SharedDatabase
) -> dict[str, Any]:
    organisation, person, project = named.tenant
    return {
        "database": str(named),
        "tenant": {"organisation": organisation, "person": person, "project": project},
        "own": fields(own, "sessions messages tokens chunks summaries size_bytes")
        | {"models": [model_dict(model) for model in own.models]}
        | dict(kept),
        **fields(
            sizes,
            "database_bytes passages connections connections_of_all connections_allowed",
        ),
        "indexes": dict(sizes.indexes),
    }


def _print_stats(
    own: Stats, kept: Mapping[str, int], sizes: ServerSizes, named: SharedDatabase
) -> None:
    rows = [
        ("sessions", f"{own.sessions:,}"),
        ("messages", f"{own.messages:,}"),
        ("tokens", f"{own.tokens:,}"),
        ("parts", f"{own.chunks:,}"),
        ("summaries", f"{own.summaries:,}"),
        *((name, f"{count:,}") for name, count in kept.items()),
        ("size", _mebibytes(own.size_bytes)),
    ]
    print_table((f"of {' / '.join(named.tenant)}", ""), rows)
    click.echo()
    print_line("database", f"{named}: {_mebibytes(sizes.database_bytes)}")
    print_line("parts", f"about {sizes.passages:,}, of all tenants")
    print_line(
        "connected",
        f"{sizes.connections} here, {sizes.connections_of_all} in all "
        f"of {sizes.connections_allowed} allowed",
    )
    click.echo()
    largest = sizes.indexes[:INDEXES_SHOWN]
    print_table(("largest indexes", "size"), [(name, _mebibytes(size)) for name, size in largest])


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
