"""`kds db`, `kds team`, `kds login`: a server for many, who may use it, and being one of them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from kds.brain.clock import moment
from kds.brain.environment import DATABASE
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import VERSION, require, state_of, upgrade
from kds.brain.store.team import Team
from kds.brain.workspace import SharedDatabase, Workspace, shared_database
from kds.cli import base
from kds.cli.guard import TESTS_FAILED, Refusal, complain, pass_on
from kds.cli.output import Table, counted, fields, say
from kds.cli.terminal import shown, slow
from kds.service.team_client import Login, TeamService, checked_url, forget_login, keep_login

AUDIT_LINES: Final = 100


@base.command(
    "kds db", "kds db --upgrade", name="db",
    closing="""KDS_DATABASE names the server, or `database.url` in your own settings.
More: kds help operations""",
)  # fmt: skip
@base.flag("--upgrade", "Create the tables, or bring them to this version of KDS.", to="upgrades")
def database(*, upgrades: bool, workspace: Workspace) -> int:
    """Check the PostgreSQL database that KDS_DATABASE names: server, role, tables, your data.

    Exit code 1 when something is wrong; a role with too many rights is only a warning. Services of
    the previous version keep working while --upgrade runs; concurrent upgrades wait for each other.
    """
    with _opened(workspace) as (named, server), slow("examining the database"):
        if upgrades:
            before, after = upgrade(server)
            told = f"the tables of {named} went from version {before} to {after}"
            if before >= after:
                told = f"nothing to do: the tables of {named} are of version {before}"
            say({"database": str(named), "before": before, "after": max(before, after)}, told)
            return 0
        state = state_of(server)
        problems = list(state.problems)
        if not problems:
            with PostgresStore.of(named) as store:
                problems += store.check().problems
    vector = f"pgvector {state.vector}" if state.vector else "no pgvector"
    say(
        {"database": str(named)}
        | fields(state, "version vector steps role superuser standby")
        | {"needed": VERSION, "warnings": state.warnings, "problems": problems},
        ("database", str(named)),
        ("server", f"PostgreSQL {state.version}, {vector}"),
        ("tables", f"version {state.steps}; this KDS needs {VERSION}"),
        ("role", state.role),
        ("tenant", " / ".join(named.tenant)),
        [("problem", line) for line in problems] or ("", "the database is in order"),
    )
    pass_on(state.warnings)
    return TESTS_FAILED if problems else 0


@base.group("kds team add ann", closing="More: kds help operations")
def team() -> None:
    """Manage access to a shared service: its tokens and their audit log.

    They are kept in the database that KDS_DATABASE names.
    """


@base.command("kds team add eve --admin --days 90", of=team)
@click.argument("person", metavar="PERSON")
@base.flag("--admin", "May see the figures of the service, too.")
@base.option("--days N", "End after N days.", type=base.COUNT)
def add(*, person: str, admin: bool, days: int | None, workspace: Workspace) -> None:
    """Create a token for PERSON and print it; it is shown only once."""
    with _team(workspace) as (found, name):
        token = found.make_token(name, person, "admin" if admin else "member", days=days)
    say({"organisation": name, "person": person, "token": token}, token)


@base.command("kds team list --audit", of=team, name="list")
@base.flag("--audit", "Instead: who made, revoked and removed what, the latest first.")
def list_(*, audit: bool, workspace: Workspace) -> None:
    """List the tokens of an organisation, including those that have ended."""
    with _team(workspace) as (found, name):
        entries = found.audit(name, limit=AUDIT_LINES) if audit else ()
        tokens = () if audit else found.tokens(name)
    if audit:
        log = [(one.at, one.actor, one.action, one.person) for one in entries]
        say(entries, Table(("when", "by", "what", "person"), log))
        return
    rows = []
    for one in tokens:
        state = "good" if one.expires_at is None else f"good until {moment(one.expires_at)}"
        if one.revoked_at is not None:
            state = f"revoked {shown(one.revoked_at)}"
        rows.append((one.id, one.person.name, one.person.role, state))
    say(tokens, Table(("token", "person", "role", "state"), rows))


@base.command("kds team remove ann --token 5f1c2a", "kds team remove ann --yes", of=team)
@click.argument("person", metavar="PERSON")
@base.option("--token ID", "End only the token whose id begins so, or `all`; what they said stays.")
@base.flag("--yes", "Remove everything; without this or --token nothing is done.")
def remove(*, person: str, token: str | None, yes: bool, workspace: Workspace) -> None:
    """Remove PERSON: tokens, and everything they said, in every project.

    With --token only tokens end. Services accept them for 10 s more.
    """
    if token is None and not yes:
        raise Refusal(f"this removes everything that '{person}' said", "add --yes")
    with _team(workspace) as (found, name):
        if token is None:
            with slow(f"removing what {person} said"):
                count = found.remove(name, person)
            say({"projects": count}, f"removed {person}: {counted(count, 'project')}")
            return
        count = found.revoke(name, person, None if token == "all" else token)
    if not count:
        raise Refusal(f"'{person}' has no such token", "see them: kds team list")
    say({"revoked": count}, f"revoked {counted(count, 'token')}")


@base.command("kds login https://team.example", "pass show kds | kds login https://team.example")
@click.argument("url", metavar="[URL]", required=False)
@base.flag("--out", "Forget the token; commands use what is kept on this machine again.")
@base.flag("--plain-http", "Send the token to another machine unencrypted.")
def login(*, url: str | None, out: bool, plain_http: bool, workspace: Workspace) -> None:
    """Have commands work with a team's service, as the person whose token you give.

    The token is asked for, or read from a pipe. It is checked, and kept beside your own settings,
    for you alone. From then on route, ask, chat, context, memory, docs and learn use what the
    service keeps, in every folder, until `kds login --out`. The token itself stays valid until an
    admin revokes it (`kds team remove PERSON --token ID`). `kds status` shows the login.
    """
    if out:
        done = forget_login()
        say({"logged_out": done}, "logged out" if done else "nobody is logged in")
        return
    if url is None:
        raise Refusal("no URL given", "kds login https://team.example, or kds login --out")
    address, token = checked_url(url, plain_http=plain_http), ""
    if sys.stdin is not None and sys.stdin.isatty():
        token = str(click.prompt("token", hide_input=True, err=True)).strip()
    elif sys.stdin is not None:
        token = sys.stdin.readline().strip()
    if not token or not token.isascii():
        raise Refusal("no token given", "type it, or pipe it in: `kds team add` prints one")
    found = Login(address, token)
    with slow("asking the service"):
        who = TeamService(found).whoami()
    keep_login(found)
    if shared_database(workspace) is not None:
        complain(f"a database is named, and goes before the service: unset {DATABASE}")
    told = f"logged in at {found.url} as {who.person} of {who.organisation} ({who.role})"
    say({"url": found.url, **fields(who, "organisation person role project")}, told)


@contextmanager
def _opened(workspace: Workspace) -> Iterator[tuple[SharedDatabase, Server]]:
    """The database that the user named, and its server. Raises Refusal, StoreError."""
    found = shared_database(workspace)
    if found is None:
        raise Refusal(
            "no database is named, so conversations are kept in files",
            f"set {DATABASE}=postgresql://USER:PASSWORD@HOST/NAME, "
            "or `database.url` in your own settings; see kds help operations",
        )
    server = found.server()
    try:
        yield found, server
    finally:
        server.close()


@contextmanager
def _team(workspace: Workspace) -> Iterator[tuple[Team, str]]:
    """The team on the server, and the name of the organisation."""
    with _opened(workspace) as (named, server):
        require(server)
        yield Team(server), named.tenant[0]
