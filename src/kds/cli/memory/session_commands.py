"""`kds memory show|new|rename|delete|cleanup`: sessions and their messages."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from kds.api.session_names import NOTHING, find_session
from kds.brain.passages.values import Message, Summary
from kds.brain.sessions.session_values import Session
from kds.cli.command import command
from kds.cli.completion import completed_by
from kds.cli.memory.memory_options import SHOWN_ID, changing, looking, read_span
from kds.cli.moments import shown
from kds.cli.options import common_options
from kds.cli.output import counted, fields, print_json, print_line, print_table
from kds.cli.progress import slow, tracked

SHOWN_SESSIONS: Final = 20

_MESSAGE: Final = "id seq role speaker at tokens content"
_SUMMARY: Final = "first_seq last_seq kind at text"

yes_option = click.option("--yes", is_flag=True, help="Do it; without this it is only shown.")


@command(
    "kds memory show", "kds memory show last", "kds memory show 'Add a FAB button' --last 10 --json"
)
@click.argument(
    "name", metavar="[SESSION]", required=False, shell_complete=completed_by("sessions")
)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N messages.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=SHOWN_SESSIONS,
              help=f"Sessions to list.  [default: {SHOWN_SESSIONS}]")  # fmt: skip
@click.option("--offset", type=click.IntRange(min=0), metavar="N", default=0,
              help="Sessions to skip.  [default: 0]")  # fmt: skip
@common_options
def show(
    *, name: str | None, last: int | None, limit: int, offset: int, as_json: bool,
    workspace: Path | None,
) -> None:  # fmt: skip
    """List the sessions, the one changed last first; or print SESSION with its messages.

    SESSION is an id or the beginning of one, a title or a part of it, or `last`.
    """
    with looking(workspace) as store:
        if name is None:
            sessions = store.sessions(limit=limit, offset=offset) if store else ()
            _show_sessions(sessions, as_json=as_json)
            return
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        messages = store.messages(session.id, last=last)
        summaries = store.summaries(session.id)
    if as_json:
        print_json(
            session_dict(session)
            | {
                "messages": [fields(message, _MESSAGE) for message in messages],
                "summaries": [fields(summary, _SUMMARY) for summary in summaries],
            }
        )
    else:
        _print_session(session, messages, summaries)


@command("kds memory new 'Dark mode'", "kds memory new 'The lease' --document contracts/lease.md")
@click.argument("title", required=False)
@click.option("--document", metavar="NAME", help="The document that it is about.")
@common_options
def new(*, title: str | None, document: str | None, as_json: bool, workspace: Path | None) -> None:
    """Begin a session and print its id. Without TITLE its first message names it."""
    with changing(workspace) as store:
        session = store.create_session(title=title, document_context=document)
    if as_json:
        print_json(session_dict(session))
    else:
        click.echo(session.id)


@command("kds memory rename last 'Dark mode'")
@click.argument("name", metavar="SESSION", shell_complete=completed_by("sessions"))
@click.argument("title")
@click.option("--document", metavar="NAME", help="Also say which document it is about; '': none.")
@common_options
def rename(
    *, name: str, title: str, document: str | None, as_json: bool, workspace: Path | None
) -> None:
    """Give SESSION the TITLE; no later message changes it."""
    with looking(workspace) as store:
        session = find_session(store, name)
        assert store is not None
        renamed = store.rename(session.id, title)
        if document is not None:
            renamed = store.set_document(session.id, document or None)
    if as_json:
        print_json(session_dict(renamed))
    else:
        click.echo(f"{renamed.id[:SHOWN_ID]} is now '{renamed.title}'")


@command("kds memory delete 'Dark mode'", "kds memory delete 3f2a91c0 --yes")
@click.argument(
    "names", metavar="SESSION...", nargs=-1, required=True, shell_complete=completed_by("sessions")
)
@yes_option
@common_options
def delete(*, names: tuple[str, ...], yes: bool, as_json: bool, workspace: Path | None) -> None:
    """Delete sessions with all they hold, down to their bytes on disk.

    Without --yes it only says what would go. An export brings a session back, nothing else.
    """
    with looking(workspace) as store:
        sessions = tuple(dict.fromkeys(find_session(store, name) for name in names))
        if yes and store is not None:
            for session in tracked(sessions, "deleting"):
                store.delete_session(session.id)
    _show_deleted(sessions, done=yes, as_json=as_json)


@command("kds memory cleanup --older-than 30d", "kds memory cleanup --older-than 30d --yes")
@click.option("--older-than", "age", metavar="TIME", required=True,
              help="Sessions that nothing happened in for this long: 36h, 30d, 8w.")  # fmt: skip
@yes_option
@common_options
def cleanup(*, age: str, yes: bool, as_json: bool, workspace: Path | None) -> None:
    """Delete the sessions that nothing happened in for a while.

    Without --yes it only says what would go.
    """
    span = read_span(age)
    with looking(workspace) as store, slow("looking for old sessions"):
        sessions = store.cleanup(span, dry_run=not yes).sessions if store else ()
    _show_deleted(sessions, done=yes, as_json=as_json)


def session_dict(session: Session) -> dict[str, Any]:
    """The JSON form of a session."""
    told = fields(session, "id title created_at updated_at document_context")
    return told | {"messages": session.message_count, "tokens": session.token_count}


def print_sessions(sessions: Iterable[Session]) -> None:
    """Print a table of sessions."""
    rows = [
        (
            session.id[:SHOWN_ID],
            session.title or "(no title)",
            shown(session.updated_at),
            f"{session.message_count:,}",
            f"{session.token_count:,}",
            session.document_context or "",
        )
        for session in sessions
    ]
    print_table(("id", "title", "changed", "messages", "tokens", "document"), rows)


def _show_sessions(sessions: tuple[Session, ...], *, as_json: bool) -> None:
    if as_json:
        print_json([session_dict(session) for session in sessions])
    elif sessions:
        print_sessions(sessions)
    else:
        click.echo(NOTHING)


def _show_deleted(sessions: tuple[Session, ...], *, done: bool, as_json: bool) -> None:
    messages = sum(session.message_count for session in sessions)
    if as_json:
        listed = [session_dict(session) for session in sessions]
        print_json({"sessions": listed, "messages": messages, "dry_run": not done})
        return
    if not sessions:
        click.echo("no session is that old")
        return
    print_sessions(sessions)
    counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
    click.echo(f"\ndeleted {counts}" if done else f"\nwould delete {counts}; --yes does it")


def _print_session(
    session: Session, messages: Iterable[Message], summaries: Iterable[Summary]
) -> None:
    print_line("session", session.id)
    print_line("title", session.title or "(none yet)")
    if session.document_context:
        print_line("document", session.document_context)
    print_line("begun", shown(session.created_at))
    print_line("changed", shown(session.updated_at))
    print_line("holds", f"{counted(session.message_count, 'message')}, "
               f"about {counted(session.token_count, 'token')}")  # fmt: skip
    for summary in summaries:
        click.echo(f"\nsummary of {summary.first_seq}-{summary.last_seq}: {summary.text}")
    for message in messages:
        speaker = f" ({message.speaker})" if message.speaker else ""
        click.echo(f"\n{message.seq} {message.role}{speaker} {shown(message.at)}")
        click.echo(message.content)
