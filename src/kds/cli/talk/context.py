"""`kds context`: the conversation context of a workspace (DESIGN 3)."""

from pathlib import Path

import click

import kds
from kds.brain.clock import utc_now
from kds.brain.contexts import Contexts
from kds.brain.journal import LoadedContext
from kds.brain.message import clean_message
from kds.brain.turn import ContextEntry
from kds.brain.wire import entry_to_wire
from kds.cli.command import command, group
from kds.cli.completion import completed_by
from kds.cli.guard import complain
from kds.cli.options import common_options, find_workspace
from kds.cli.output import print_entries, print_json


@group("kds context load", "kds context clear")
def context() -> None:
    """Load, log, clear or locate the conversation context: ten messages, two hours."""


@command("kds context load --json", of=context)
@common_options
def load(*, as_json: bool, workspace: Path | None) -> None:
    """Show what is remembered, oldest first."""
    loaded = Contexts(find_workspace(workspace)).journal().load()
    _show(loaded, as_json=as_json)


@command(
    "kds context log --message 'Make it purple' --intent EXECUTE --context-ref 'FAB button'",
    of=context,
)
@click.option("--message", required=True, help="What the user said.")
@click.option(
    "--intent", required=True, help="Its intent, such as EXECUTE.",
    shell_complete=completed_by("intents"),
)  # fmt: skip
@click.option("--context-ref", help="What it refers to.")
@click.option("--session-id", help="The session it belongs to.")
@common_options
def log(
    *,
    message: str,
    intent: str,
    context_ref: str | None,
    session_id: str | None,
    as_json: bool,
    workspace: Path | None,
) -> None:
    """Remember one message, with secrets taken out."""
    found = find_workspace(workspace)
    entry = ContextEntry(
        timestamp=utc_now(),
        user_message=clean_message(message),
        intent=kds.PromptLibrary.load(found.prompts_dir).intent_named(intent),
        session_id=clean_message(session_id) if session_id else None,
        context_ref=clean_message(context_ref) if context_ref else None,
    )
    found.ensure()
    _show(Contexts(found).journal().log(entry), as_json=as_json)


@command("kds context clear", of=context)
@common_options
def clear(*, as_json: bool, workspace: Path | None) -> None:
    """Forget the conversation context."""
    found = find_workspace(workspace)
    count = Contexts(found).journal().clear()
    kds.TurnLog(found).forget()
    if as_json:
        print_json({"cleared": count})
    else:
        click.echo(f"cleared {count} {'entry' if count == 1 else 'entries'}")


@command('wc -l "$(kds context path)"', of=context)
@common_options
def path(*, as_json: bool, workspace: Path | None) -> None:
    """Print where the context file is, or would be."""
    place = find_workspace(workspace).context_path
    if as_json:
        print_json({"path": str(place)})
    else:
        click.echo(bytes(place) if _has_odd_bytes(place) else str(place))


def _show(loaded: LoadedContext, *, as_json: bool) -> None:
    for warning in loaded.warnings:
        complain(warning)
    if as_json:
        print_json({"entries": [entry_to_wire(entry) for entry in loaded.entries]})
    else:
        print_entries(loaded.entries)


def _has_odd_bytes(place: Path) -> bool:
    """A path that is no text must come out byte for byte."""
    return any("\ud800" <= character <= "\udfff" for character in str(place))
