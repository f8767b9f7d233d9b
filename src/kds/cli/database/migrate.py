"""`kds db migrate`: what a workspace keeps in its files, to the server."""

from typing import Any

import click

from kds.brain.documents.document_store import DocumentStore
from kds.brain.postgres.migration.compare import Compared
from kds.brain.postgres.migration.migrate import Migrated
from kds.brain.postgres.migration.migrate import migrate as copy
from kds.brain.postgres.tenancy import Tenancy, tenant_number
from kds.brain.postgres.upgrade import require
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.shared_database import SharedDatabase
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.database.named_server import named_database, opened
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import common_options
from kds.cli.output import counted, fields, print_table, say
from kds.cli.progress import reported


@command("kds db migrate --from sqlite", "kds db migrate --from sqlite --workspace ~/shop")
@click.option("--from", "origin", type=click.Choice(["sqlite"]), required=True,
              help="What to copy from: the files of the workspace.")  # fmt: skip
@common_options
def migrate(*, origin: str, workspace: Workspace) -> int:
    """Copy memory, live contexts and documents of a workspace to the server, and compare them.

    It goes on where it was broken off, and copies nothing twice. The files stay as they are. What
    the server has already in the place of something stays too; exit code 1 when that differs.
    """
    named = named_database(workspace)
    with opened(named) as server, reported("copying") as tell:
        require(server)
        done = copy(workspace, Tenancy(server, tenant_number(server, named.tenant)), tell=tell)
    say(_as_dict(done, named), lambda: _print(done, named, workspace))
    return 0 if done.complete else TESTS_FAILED


def _as_dict(done: Migrated, named: SharedDatabase) -> dict[str, Any]:
    names = "what in_file on_server digests differing same"
    return {
        "database": str(named),
        "copied_messages": done.messages,
        "copied_documents": done.documents,
        "complete": done.complete,
        "compared": [fields(one, names) for one in done.compared],
    }


def _print(done: Migrated, named: SharedDatabase, workspace: Workspace) -> None:
    print_table(("kept", "in files", "on server", "checksum"), map(_row, done.compared))
    click.echo()
    for one in done.compared:
        for name in one.differing:
            click.echo(f"{one.what}: {name} differs there, and was left as it is")
    documents = f" and {counted(done.documents, 'document')}" if done.documents else ""
    click.echo(f"copied {counted(done.messages, 'message')}{documents} to {named}")
    files = (kind.path_in(workspace) for kind in (SqliteStore, DocumentStore))
    for file in (one for one in files if done.complete and one.exists()):
        click.echo(f"{file} is as it was, and not used while the database is named")


def _row(one: Compared) -> tuple[str, str, str, str]:
    checksum = one.digests[0] if one.same else " != ".join(one.digests)
    return one.what, f"{one.in_file:,}", f"{one.on_server:,}", checksum
