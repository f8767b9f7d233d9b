"""`kds memory show|new|rename|delete|cleanup`: sessions and their messages."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any, Final

import click

from kds.agents.summarizer import settings_summarizer
from kds.api.session_names import LAST, NOTHING, find_session
from kds.brain.passages.values import Message, Summary
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.memory_rows import EXPORTED
from kds.brain.sessions.remembering import ConversationMemory, Tools
from kds.brain.sessions.session_values import EntityTerm, Session
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal
from kds.cli.options import common_options, read_span
from kds.cli.output import counted, fields, print_json, print_line, print_table, say
from kds.cli.palette import shown
from kds.cli.progress import slow, tracked
from kds.cli.stores import changing, looking
from kds.router.prompts.library import PromptLibrary

SHOWN_SESSIONS: Final = 20

SHOWN_ID: Final = 8
"""Characters of a session's id in tables; as many name it, as in git."""

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
    *, name: str | None, last: int | None, limit: int, offset: int, workspace: Workspace
) -> None:
    """List the sessions, the one changed last first; or print SESSION with its messages.

    SESSION is an id or the beginning of one, a title or a part of it, or `last`.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        if name is None:
            sessions = store.sessions(limit=limit, offset=offset) if store else ()
            say([session_dict(one) for one in sessions], lambda: print_sessions(sessions))
            return
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        messages = store.messages(session.id, last=last)
        summaries = store.summaries(session.id)
        known = store.entities.load(session.id)
    terms = known.terms if known else ()
    say(
        session_dict(session)
        | {
            "messages": [fields(message, _MESSAGE) for message in messages],
            "summaries": [fields(summary, _SUMMARY) for summary in summaries],
            "terms": [fields(term, "term snippet turn") for term in terms],
        },
        lambda: _print_session(session, messages, summaries, terms),
    )


@command("kds memory new 'Dark mode'", "kds memory new 'The lease' --document contracts/lease.md")
@click.argument("title", required=False)
@click.option("--document", metavar="NAME", help="The document that it is about.")
@common_options
def new(*, title: str | None, document: str | None, workspace: Workspace) -> None:
    """Begin a session and print its id. Without TITLE its first message names it."""
    with changing(MemoryPlace.of(workspace)) as store:
        session = store.create_session(title=title, document_context=document)
    say(session_dict(session), session.id)


@command("kds memory rename last 'Dark mode'")
@click.argument("name", metavar="SESSION", shell_complete=completed_by("sessions"))
@click.argument("title")
@click.option("--document", metavar="NAME", help="Also say which document it is about; '': none.")
@common_options
def rename(*, name: str, title: str, document: str | None, workspace: Workspace) -> None:
    """Give SESSION the TITLE; no later message changes it."""
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name)
        assert store is not None
        renamed = store.rename(session.id, title)
        if document is not None:
            renamed = store.set_document(session.id, document or None)
    say(session_dict(renamed), f"{renamed.id[:SHOWN_ID]} is now '{renamed.title}'")


@command("kds memory delete 'Dark mode'", "kds memory delete 3f2a91c0 --yes")
@click.argument(
    "names", metavar="SESSION...", nargs=-1, required=True, shell_complete=completed_by("sessions")
)
@yes_option
@common_options
def delete(*, names: tuple[str, ...], yes: bool, workspace: Workspace) -> None:
    """Delete sessions with all they hold, down to their bytes on disk.

    Without --yes it only says what would go. An export brings a session back, nothing else.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        sessions = tuple(dict.fromkeys(find_session(store, name) for name in names))
        if yes and store is not None:
            for session in tracked(sessions, "deleting"):
                store.delete_session(session.id)
    _show_deleted(sessions, done=yes)


@command("kds memory cleanup --older-than 30d", "kds memory cleanup --older-than 30d --yes")
@click.option("--older-than", "age", metavar="TIME", required=True,
              help="Sessions that nothing happened in for this long: 36h, 30d, 8w.")  # fmt: skip
@yes_option
@common_options
def cleanup(*, age: str, yes: bool, workspace: Workspace) -> None:
    """Delete the sessions that nothing happened in for a while.

    Without --yes it only says what would go.
    """
    span = read_span(age)
    with looking(MemoryPlace.of(workspace)) as store, slow("looking for old sessions"):
        sessions = store.cleanup(span, dry_run=not yes).sessions if store else ()
    _show_deleted(sessions, done=yes)


@command("kds memory summarize", "kds memory summarize 'Dark mode' --json")
@click.argument("name", metavar="[SESSION]", default=LAST, shell_complete=completed_by("sessions"))
@common_options
def summarize(*, name: str, workspace: Workspace) -> None:
    """Summarize now what was said in SESSION since its last summary.

    Without SESSION it is the last one. With a model it writes the summary (settings
    memory.summaries), and is waited for; without one it is made of the session's own sentences.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name)
    settings = load_settings(workspace)
    library = PromptLibrary.load(workspace.prompts_dir)
    memory = ConversationMemory.open(
        workspace, Tools(find_summarizer=lambda: settings_summarizer(settings.model, library))
    )
    if not memory.flags.enabled or settings.memory.summaries == "off":
        raise Refusal("summaries are off", "set memory.enabled and memory.summaries (kds config)")
    with closing(memory), slow("summarizing"):
        made = memory.summarise_now(session.id)
    if made is None:
        nothing = "No summary: nothing was said since the last one."
        say({"session": session.id, "summary": None}, nothing)
        return
    say(
        {"session": session.id, "summary": fields(made, _SUMMARY)},
        lambda: print_line(f"summary of {made.first_seq}-{made.last_seq}", made.text),
    )


def session_dict(session: Session) -> dict[str, Any]:
    """The JSON form of a session."""
    told = fields(session, " ".join(one.name for one in EXPORTED))
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
    columns = ("id", "title", "changed", "messages", "tokens", "document")
    print_table(columns, rows, none=NOTHING)


def _show_deleted(sessions: tuple[Session, ...], *, done: bool) -> None:
    messages = sum(session.message_count for session in sessions)
    if asked_json():
        listed = [session_dict(session) for session in sessions]
        print_json({"sessions": listed, "messages": messages, "dry_run": not done})
    elif not sessions:
        click.echo("no session is that old")
    else:
        print_sessions(sessions)
        counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
        click.echo(f"\ndeleted {counts}" if done else f"\nwould delete {counts}; --yes does it")


def _print_session(
    session: Session,
    messages: Iterable[Message],
    summaries: Iterable[Summary],
    terms: Iterable[EntityTerm],
) -> None:
    print_line("session", session.id)
    print_line("title", session.title or "(none yet)")
    if session.document_context:
        print_line("document", session.document_context)
    print_line("begun", shown(session.created_at))
    print_line("changed", shown(session.updated_at))
    print_line("holds", f"{counted(session.message_count, 'message')}, "
               f"about {counted(session.token_count, 'token')}")  # fmt: skip
    for term in terms:
        print_line("term", f"{term.term}: {term.snippet}" if term.snippet else term.term)
    for summary in summaries:
        click.echo(f"\nsummary of {summary.first_seq}-{summary.last_seq}: {summary.text}")
    for message in messages:
        speaker = f" ({message.speaker})" if message.speaker else ""
        click.echo(f"\n{message.seq} {message.role}{speaker} {shown(message.at)}")
        click.echo(message.content)
