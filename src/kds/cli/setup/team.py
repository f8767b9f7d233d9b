"""`kds team`: who may use a service that people share (`kds serve --team`)."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from kds.brain.clock import moment
from kds.brain.store.postgres_schema import require
from kds.brain.store.team import Team, Token
from kds.brain.workspace import Workspace, shared_database
from kds.cli.command import command, group
from kds.cli.database.named_server import opened
from kds.cli.guard import Refusal
from kds.cli.options import common_options
from kds.cli.output import counted, fields, print_table, say
from kds.cli.palette import shown

SHOWN: Final = 100

organisation_option = click.option(
    "--organisation", metavar="NAME", help="Whose they are.  [default: database.organisation]"
)


@group(
    "kds team add ann", "kds team list", "kds team revoke ann", closing="More: kds help operations"
)
def team() -> None:
    """Say who may use a shared service: tokens, and what was done with them.

    They are kept in the database that KDS_DATABASE names.
    """


@command("kds team add ann", "kds team add eve --admin --days 90", of=team)
@click.argument("person", metavar="PERSON")
@organisation_option
@click.option("--admin", is_flag=True, help="May see the figures of the service, too.")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="End after N days.")
@common_options
def add(
    *, person: str, organisation: str | None, admin: bool, days: int | None, workspace: Workspace
) -> None:
    """Make a token for PERSON, and print it: it is shown this once."""
    with _opened(workspace, organisation) as (found, name):
        token = found.make_token(name, person, "admin" if admin else "member", days=days)
    say({"organisation": name, "person": person, "token": token}, token)


@command("kds team list --json", of=team, name="list")
@organisation_option
@common_options
def list_(*, organisation: str | None, workspace: Workspace) -> None:
    """List the tokens of an organisation, those that ended too."""
    with _opened(workspace, organisation) as (found, name):
        tokens = found.tokens(name)
    say(
        [_token(one) for one in tokens],
        lambda: print_table(
            ("token", "person", "role", "state"),
            [(one.id, one.person.name, one.person.role, _state(one)) for one in tokens],
        ),
    )


@command("kds team revoke ann", "kds team revoke ann --token 5f1c2a", of=team)
@click.argument("person", metavar="PERSON")
@organisation_option
@click.option("--token", metavar="ID", help="Only the one whose id begins so.")
@common_options
def revoke(
    *, person: str, organisation: str | None, token: str | None, workspace: Workspace
) -> None:
    """End the tokens of PERSON; what they said stays. Services let them in for 10 s more."""
    with _opened(workspace, organisation) as (found, name):
        count = found.revoke(name, person, token)
    if not count:
        raise Refusal(f"'{person}' has no such token", "see them: kds team list")
    say({"revoked": count}, f"revoked {counted(count, 'token')}")


@command("kds team remove ann --yes", of=team)
@click.argument("person", metavar="PERSON")
@organisation_option
@click.option("--yes", is_flag=True, help="Do it; without this nothing is done.")
@common_options
def remove(*, person: str, organisation: str | None, yes: bool, workspace: Workspace) -> None:
    """Remove PERSON: tokens, and everything they said, in every project."""
    if not yes:
        raise Refusal(f"this removes everything that '{person}' said", "add --yes")
    with _opened(workspace, organisation) as (found, name):
        count = found.remove(name, person)
    say({"projects": count}, f"removed {person}: {counted(count, 'project')}")


@command("kds team audit --limit 20", of=team)
@organisation_option
@click.option("--limit", type=click.IntRange(min=1), default=SHOWN, metavar="N",
              help=f"Entries to show.  [default: {SHOWN}]")  # fmt: skip
@common_options
def audit(*, organisation: str | None, limit: int, workspace: Workspace) -> None:
    """Show who made, revoked and removed what, the latest first."""
    with _opened(workspace, organisation) as (found, name):
        entries = found.audit(name, limit=limit)
    say(
        [fields(one, "at organisation actor action person") for one in entries],
        lambda: print_table(
            ("when", "by", "what", "person"),
            [(shown(one.at), one.actor, one.action, one.person) for one in entries],
        ),
    )


@contextmanager
def _opened(workspace: Workspace, organisation: str | None) -> Iterator[tuple[Team, str]]:
    """The team on the server, and the organisation that is meant."""
    shared = shared_database(workspace)
    if shared is None:
        raise Refusal(
            "no database is named: a team shares one", "set KDS_DATABASE to postgresql://..."
        )
    with opened(shared) as server:
        require(server)
        yield Team(server, actor=getpass.getuser()), organisation or shared.tenant[0]


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return f"revoked {shown(token.revoked_at)}"
    return "good" if token.expires_at is None else f"good until {moment(token.expires_at)}"


def _token(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "organisation": token.person.organisation,
        "person": token.person.name,
        "role": token.person.role,
        **fields(token, "created_at expires_at revoked_at"),
    }
