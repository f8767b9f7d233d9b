"""`kds learn review`: every proposal with its evidence and what it would change."""

import sys
from typing import Final

import click

from kds.brain.errors import KdsError
from kds.brain.learning.candidate import Candidate
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import complain_about
from kds.cli.learning.view import candidate_dict
from kds.cli.options import common_options
from kds.cli.output import asked_json, print_json, print_line
from kds.cli.progress import slow
from kds.learning.learning import Learning
from kds.learning.preview import Preview, preview
from kds.router.prompts.library import PromptLibrary

NOTHING: Final = "nothing is proposed"
QUESTION: Final = "accept, reject, later or quit?"


@command("kds learn review", "kds learn review --json")
@common_options
def review(*, workspace: Workspace) -> None:
    """Show what is proposed, and how each message would be routed then.

    In a terminal it asks about one after the other; elsewhere it only shows them.
    """
    learning = Learning(workspace)
    proposals = learning.proposals()
    with slow("trying what is proposed"):
        previews = preview(workspace, proposals) if proposals else {}
    if asked_json():
        print_json([_row(one, previews[one.id]) for one in proposals])
        return
    if not proposals:
        click.echo(NOTHING)
        return
    asks = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    shipped = PromptLibrary.load(workspace.prompts_dir) if asks else None
    for one in proposals:
        _print(one, previews[one.id])
        if shipped is not None and not _settled(one, learning, shipped):
            return
    if not asks:
        click.echo("kds learn accept ID..., kds learn reject ID...")


def _settled(one: Candidate, learning: Learning, shipped: PromptLibrary) -> bool:
    """Ask about a proposal, and do as told; False to stop."""
    choice = click.Choice(["a", "r", "l", "q"], case_sensitive=False)
    answer = click.prompt(QUESTION, type=choice, default="l")
    try:
        if answer == "a":
            learning.accept([one.id], shipped)
            click.echo(f"learned; kds learn undo {one.id} takes it back")
        elif answer == "r":
            learning.reject([one.id])
            click.echo("rejected")
    except KdsError as error:
        complain_about(error)
    return bool(answer != "q")


def _print(one: Candidate, change: Preview) -> None:
    print_line("proposal", f"{one.id}  '{one.text}' as {one.intent}")
    print_line("evidence", f"{one.why}; confidence {one.confidence:.2f}")
    print_line("now", str(change.now))
    print_line("then", str(change.then))
    click.echo()


def _row(one: Candidate, change: Preview) -> dict[str, object]:
    return candidate_dict(one) | {"now": change.now.as_dict(), "then": change.then.as_dict()}
