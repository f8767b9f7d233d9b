"""`kds '#file:KDS/prompts/user/kds.md ...'`: the forms that a chat would pass on (DESIGN 7)."""

import shlex
from pathlib import Path

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import context_option, json_option, workspace_option
from kds.cli.talk.context import clear, load, log
from kds.cli.talk.route import route
from kds.router.prompts.invocation import CLEAR_CONVERSATION, CONTEXT_MANAGER, parse_invocation
from kds.router.prompts.library import PromptLibrary


@command(
    "kds '#file:KDS/prompts/user/kds.md I want to add a FAB button'",
    "kds '#file:KDS/prompts/internal/conversation-context-manager.md' load",
    hidden=True,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@json_option
@click.option("--why", is_flag=True, help="Also print the reasons of every step.")
@click.option("--no-log", is_flag=True, help="Leave the conversation context as it is.")
@context_option
@workspace_option
@click.pass_context
def invoke(
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    why: bool,
    no_log: bool,
    context: str | None,
    workspace: Workspace,
) -> None:
    """Do what a `#file:` invocation asks for; its text may come in one argument or several."""
    text = _joined(words)
    invocation = parse_invocation(text, PromptLibrary.load(workspace.prompts_dir))
    command = invocation.command if invocation else None
    if command is None:
        ctx.invoke(
            route, words=(text,), why=why, prompt_only=False, no_log=no_log,
            context=context, workspace=workspace,
        )  # fmt: skip
    elif command.operation == "load":
        ctx.invoke(load, context=context, workspace=workspace)
    elif command.operation == "clear":
        ctx.invoke(clear, context=context, workspace=workspace)
    else:
        ctx.invoke(
            log, message=command.message, intent=command.intent, context_ref=command.context_ref,
            session_id=command.session_id, context=context, workspace=workspace,
        )  # fmt: skip


def _joined(words: tuple[str, ...]) -> str:
    """One text from the arguments of the shell, which has taken the quotes off.

    The context manager reads a command line, so its arguments get their quotes back.
    """
    head, *others = words
    is_command = head.strip().endswith((Path(CONTEXT_MANAGER).name, Path(CLEAR_CONVERSATION).name))
    return " ".join([head, shlex.join(others) if is_command else " ".join(others)]).rstrip()
