"""`kds route` and `kds explain`: one message through the router."""

import json
from pathlib import Path

import click

from kds.brain.errors import MessageError
from kds.brain.message import well_formed
from kds.brain.turn import Utterance
from kds.brain.utterances import utterances
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
    "kds route 'yes, do it' --reply 'Shall I raise the limit to 512Mi?'",
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
@click.option(
    "--reply", metavar="TEXT", help="What the assistant said last: its question, its options."
)
@click.option(
    "--history",
    "history_file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    help="What was said before, as JSON or JSONL of role and content; - reads a pipe.",
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
    reply: str | None,
    history_file: Path | None,
    context: str | None,
    workspace: Workspace,
) -> None:
    """Route MESSAGE: expand it, find its intent, pick the agent, remember it.

    MESSAGE may be several words; `-`, or nothing at all, reads it from a pipe. A service that
    runs does the work; where none runs, one is started for the next message.
    """
    message = read_message(words)
    turn = route_message(
        message,
        workspace,
        context=context,
        log=not no_log,
        rewrite=rewrite,
        may_start=not no_log,
        history=_history(history_file, reply),
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


def _history(file: Path | None, reply: str | None) -> tuple[Utterance, ...]:
    """What was said before, oldest first. Raises MessageError naming what is none of it."""
    said = () if file is None else _read(file)
    return (*said, Utterance(well_formed(reply), "assistant")) if reply else said


def _read(file: Path) -> tuple[Utterance, ...]:
    with click.open_file(str(file), encoding="utf-8", errors="replace") as lines:
        text = lines.read().strip()
    try:
        return utterances(json.loads(text if text.startswith("[") else _as_list(text)))
    except json.JSONDecodeError as error:
        hint = 'write a JSON list, or a line {"role": "user", "content": "..."} for each message'
        raise MessageError(f"not JSON: {error}", where=str(file), hint=hint) from error
    except MessageError as error:
        raise MessageError(error.message, where=str(file), hint=error.hint) from error


def _as_list(lines: str) -> str:
    return f"[{','.join(line for line in lines.splitlines() if line.strip())}]"


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
