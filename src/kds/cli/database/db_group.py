"""`kds db`: the server that keeps conversations for many: its tables and health."""

from collections.abc import Iterator, Sequence

import click

from kds.brain.errors import ConfigError
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import FILE_NAME as LEARNED
from kds.brain.learning.learned_file import LearnedFile
from kds.brain.memory.postgres_store import PostgresStore
from kds.brain.store.postgres_schema import STEPS, ServerState, state_of, version
from kds.brain.store.postgres_schema import upgrade as upgrade_tables
from kds.brain.store.texts import PostgresText
from kds.brain.workspace import SharedDatabase, Workspace
from kds.cli.command import command, group
from kds.cli.database.named_server import named_database, opened
from kds.cli.guard import TESTS_FAILED, pass_on
from kds.cli.options import common_options
from kds.cli.output import fields, print_line, say
from kds.cli.progress import slow


@group(
    "kds db upgrade",
    "kds db check --json",
    closing="""KDS_DATABASE names the server, or `database.url` in your own settings.
More: kds help operations""",
)
def database() -> None:
    """Make and examine the PostgreSQL database that you named."""


@command("kds db upgrade", "kds db upgrade --check", of=database)
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
    if before >= after:
        told = f"nothing to do: the tables of {named} are of version {before}"
    elif only_check:
        told = f"the tables of {named} are of version {before}; this KDS needs {after}"
    else:
        told = f"the tables of {named} went from version {before} to {after}"
    say({"database": str(named), "before": before, "after": max(before, after)}, told)
    return TESTS_FAILED if only_check and before < after else 0


@command("kds db check --json", of=database)
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
    say(
        {"database": str(named)}
        | fields(state, "version vector steps role superuser standby")
        | {"needed": len(STEPS), "warnings": list(state.warnings), "problems": problems},
        lambda: _print_state(state, problems, named),
    )
    pass_on(state.warnings)
    return TESTS_FAILED if problems else 0


def _own_problems(named: SharedDatabase) -> tuple[str, ...]:
    with PostgresStore.of(named) as store:
        return (*store.check().problems, *_problems(named))


def _print_state(state: ServerState, problems: Sequence[str], named: SharedDatabase) -> None:
    print_line("database", str(named))
    vector = f"pgvector {state.vector}" if state.vector else "no pgvector"
    print_line("server", f"PostgreSQL {state.version}, {vector}")
    print_line("tables", f"version {state.steps}; this KDS needs {len(STEPS)}")
    print_line("role", state.role)
    print_line("tenant", " / ".join(named.tenant))
    for line in problems or ["the database is in order"]:
        click.echo(line)


def _problems(named: SharedDatabase) -> Iterator[str]:
    """What cannot be read of what was learned; nothing is changed."""
    if damaged := EventLog(PostgresText.of(named, EVENTS)).damaged():
        yield f"lines of {EVENTS} that cannot be read: {damaged}; kds learn list sets them aside"
    try:
        LearnedFile(PostgresText.of(named, LEARNED)).entries()
    except ConfigError as error:
        yield f"what was learned is not used: {error.where}: {error.message}"
