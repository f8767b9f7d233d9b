"""`kds context`: the conversation context of a workspace (DESIGN 3)."""

from pathlib import Path

import click

import kds
from kds.brain.clock import utc_now
from kds.brain.context.conversations import Contexts, conversation_path
from kds.brain.context.journal import LoadedContext
from kds.brain.message import clean_message
from kds.brain.turn import ContextEntry
from kds.brain.wire import entry_to_wire
from kds.brain.workspace import Workspace
from kds.cli.command import command, group
from kds.cli.completion import completed_by
from kds.cli.guard import pass_on
from kds.cli.options import common_options, context_option
from kds.cli.output import print_entries, say


@group("kds context load", "kds context clear", name="context")
def context_group() -> None:
    """Load, log, clear or locate the conversation context: ten messages, two hours."""


@command("kds context load --json", of=context_group)
@context_option
@common_options
def load(*, context: str | None, workspace: Workspace) -> None:
    """Show what is remembered, oldest first, and which terminal said it."""
    _show(Contexts(workspace).journal(context).load())


@command(
    "kds context log --message 'Make it purple' --intent EXECUTE --context-ref 'FAB button'",
    of=context_group,
)
@click.option("--message", required=True, help="What the user said.")
@click.option(
    "--intent", required=True, help="Its intent, such as EXECUTE.",
    shell_complete=completed_by("intents"),
)  # fmt: skip
@click.option("--context-ref", help="What it refers to.")
@click.option("--session-id", help="The session it belongs to.")
@context_option
@common_options
def log(
    *,
    message: str,
    intent: str,
    context_ref: str | None,
    session_id: str | None,
    context: str | None,
    workspace: Workspace,
) -> None:
    """Remember one message, with secrets taken out."""
    entry = ContextEntry(
        timestamp=utc_now(),
        user_message=clean_message(message),
        intent=kds.PromptLibrary.load(workspace.prompts_dir).intent_named(intent),
        session_id=clean_message(session_id) if session_id else None,
        context_ref=clean_message(context_ref) if context_ref else None,
    )
    workspace.ensure()
    _show(Contexts(workspace).journal(context).log(entry))


@command("kds context clear", of=context_group)
@context_option
@common_options
def clear(*, context: str | None, workspace: Workspace) -> None:
    """Forget the conversation context."""
    count = Contexts(workspace).journal(context).clear()
    kds.TurnLog(workspace).forget(context)
    say({"cleared": count}, f"cleared {count} {'entry' if count == 1 else 'entries'}")


@command('wc -l "$(kds context path)"', of=context_group)
@context_option
@common_options
def path(*, context: str | None, workspace: Workspace) -> None:
    """Print where the context file is, or would be."""
    place = workspace.context_path if context is None else conversation_path(workspace, context)
    shown = bytes(place) if _has_odd_bytes(place) else str(place)
    say({"path": str(place)}, lambda: click.echo(shown))


def _show(loaded: LoadedContext) -> None:
    pass_on(loaded.warnings)
    say(
        {"entries": [entry_to_wire(entry) for entry in loaded.entries]},
        lambda: print_entries(loaded.entries),
    )


def _has_odd_bytes(place: Path) -> bool:
    """A path that is no text must come out byte for byte."""
    return any("\ud800" <= character <= "\udfff" for character in str(place))
