"""`kds route` and `kds explain`: one message through the router."""

import click

from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, asked_json, command
from kds.cli.options import (
    common_options,
    context_option,
    json_option,
    message_argument,
    read_message,
    route_message,
    workspace_option,
)
from kds.cli.output import print_json, print_line, print_steps, print_turn, print_why


@command(
    "kds route 'I want to add a FAB button'",
    "kds route 'Make it purple' --why",
    "kds route 'And the other one?' --rewrite --why",
    "echo 'Make it purple' | kds route - --json --no-log",
    cls=MessageCommand,
)
@message_argument
@json_option
@click.option("--why", is_flag=True, help="Also print the reasons of every step.")
@click.option("--prompt", "prompt_only", is_flag=True, help="Print the agent's prompt alone.")
@click.option("--no-log", is_flag=True, help="Leave the conversation context as it is.")
@click.option(
    "--rewrite/--no-rewrite",
    default=None,
    help="Have a model write the message out, or not.  [default: as rewriting.mode says]",
)
@context_option
@workspace_option
def route(
    words: tuple[str, ...],
    *,
    why: bool,
    prompt_only: bool,
    no_log: bool,
    rewrite: bool | None,
    context: str | None,
    workspace: Workspace,
) -> None:
    """Route MESSAGE: expand it, find its intent, pick the agent, remember it.

    MESSAGE may be several words; `-`, or nothing at all, reads it from a pipe. A service that
    runs does the work; where none runs, one is started for the next message.
    """
    message = read_message(words)
    turn = route_message(
        message, workspace, context=context, log=not no_log, rewrite=rewrite, may_start=not no_log
    )
    if asked_json():
        print_json(turn.as_dict())
    elif prompt_only:
        click.echo(turn.prompt)
    else:
        print_turn(turn)
        if turn.prompt and turn.agent:
            print_line("prompt", f"{len(turn.prompt):,} characters; --prompt prints it")
    if why and not asked_json():
        print_why(turn)


@command("kds explain 'Make it purple'", "kds explain 'Make it purple' --json", cls=MessageCommand)
@message_argument
@context_option
@common_options
def explain(words: tuple[str, ...], *, context: str | None, workspace: Workspace) -> None:
    """Route MESSAGE without remembering it, and print what every step recorded."""
    message = read_message(words)
    turn = route_message(message, workspace, context=context, log=False)
    if asked_json():
        steps = [
            {"step": record.step, "cpu_ms": round(record.cpu_ms, 3), "notes": list(record.notes)}
            for record in turn.records
        ]
        print_json({"message": turn.message, "steps": steps})
        return
    print_turn(turn)
    click.echo()
    print_steps(turn.records)
