"""`kds ask`: one message, routed and answered."""

import click

import kds
from kds.agents.agent import prompt_named
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, asked_json, command
from kds.cli.completion import completed_by
from kds.cli.guard import pass_on
from kds.cli.options import (
    context_option,
    json_option,
    message_argument,
    read_message,
    start_afterwards,
    workspace_option,
)
from kds.cli.output import print_json, print_line
from kds.cli.progress import slow
from kds.cli.talk.answering import NO_ANSWER, WAITING, show_stream, tell_about, tell_noted
from kds.cli.terminal import harmless
from kds.router.prompts.library import PromptLibrary
from kds.service.desk import LOADING
from kds.session.answer import Answer

agent_option = click.option(
    "--agent", metavar="NAME", help="The agent to take it: work-planner, or PLAN.",
    shell_complete=completed_by("agents"),
)  # fmt: skip
session_option = click.option(
    "--session", metavar="NAME",
    help="A conversation of its own: an id or title, or `last`; begun if there is none.",
    shell_complete=completed_by("sessions"),
)  # fmt: skip
model_option = click.option(
    "--model", metavar="NAME", help="The model to ask.  [default: $KDS_MODEL, else your settings]"
)


@command(
    "kds ask 'I want to add a FAB button'",
    "kds ask 'go ahead'",
    "kds ask 'Make it purple' --dry-run",
    "git diff | kds ask - --agent change-governor --json",
    cls=MessageCommand,
    closing="Exit code 3: the model did not answer; the message is kept, "
    "and `kds ask continue` asks again.",
)
@message_argument
@json_option
@click.option("--dry-run", is_flag=True, help="Print what would be sent; ask and keep nothing.")
@agent_option
@session_option
@click.option("--follow", is_flag=True, help="Hand the work on: PLAN to EXECUTE to TEST.")
@model_option
@click.option("--no-stream", is_flag=True, help="Print the answer when it is whole.")
@click.option("--no-log", is_flag=True, help="Keep nothing: neither message nor answer.")
@context_option
@workspace_option
def ask(
    words: tuple[str, ...],
    *,
    dry_run: bool,
    agent: str | None,
    session: str | None,
    follow: bool,
    model: str | None,
    no_stream: bool,
    no_log: bool,
    context: str | None,
    workspace: Workspace,
) -> int:
    """Route MESSAGE, run the agent it is for, print the answer, remember both.

    Without a model the answer is the agent's prompt. What cannot be taken back asks first:
    answer with `kds ask yes`. MESSAGE may be several words; `-`, or nothing at all, reads it
    from a pipe.
    """
    message = read_message(words)
    keeps = not (no_log or dry_run)
    if agent is not None:
        prompt_named(agent, PromptLibrary.load(workspace.prompts_dir))  # before all else is loaded
    with slow(LOADING):
        asked = kds.Session.open(workspace, name=session, context=context, model=model, log=keeps)
    with asked:
        pass_on(asked.warnings)
        if dry_run:
            _show_preview(asked, message, agent)
            return 0
        if asked_json() or no_stream:
            with slow(WAITING):
                answer = asked.ask(message, agent=agent, follow=follow)
            _show_whole(answer)
        else:
            with slow(WAITING) as arrived:
                answer = show_stream(asked.stream(message, agent=agent, follow=follow), arrived)
        tell_about(answer, has_model=asked.has_model)
        if keeps and asked.alone:
            start_afterwards(workspace)
    return 0 if answer.error is None else NO_ANSWER


def _show_whole(answer: Answer) -> None:
    if asked_json():
        print_json(answer.as_dict())
        return
    if answer.error is None:
        click.echo(harmless(answer.text))
    tell_noted(answer)


def _show_preview(asked: "kds.Session", message: str, agent: str | None) -> None:
    with slow(WAITING):
        preview = asked.preview(message, agent=agent)
    turn, messages = preview.turn, preview.messages
    if asked_json():
        sent = [{"role": one.role, "content": one.text} for one in messages]
        says, notes = preview.says or None, list(preview.notes)
        print_json({"turn": dict(turn.as_dict()), "messages": sent, "says": says, "notes": notes})
        return
    pass_on(preview.notes)
    if preview.says:
        click.echo(preview.says)
    for one in messages:
        print_line(f"--- {one.role}", "")
        click.echo(harmless(one.text))
