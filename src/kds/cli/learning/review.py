"""`kds learn review`: every proposal with what it would change; how candidates are shown."""

import sys
from collections.abc import Iterable
from typing import Any, Final

import click

from kds.brain.errors import KdsError
from kds.brain.learning.candidate import Candidate
from kds.brain.learning.learned_file import Learned, LearnedExample
from kds.brain.learning.reference import LearnedReference
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import complain_about
from kds.cli.options import common_options
from kds.cli.output import fields, print_json, print_line, print_table
from kds.cli.progress import slow
from kds.learning.learning import Learning
from kds.learning.preview import Preview, preview
from kds.router.prompts.library import PromptLibrary

NOTHING: Final = "nothing is proposed"
QUESTION: Final = "accept, reject, later or quit?"

_CANDIDATE: Final = "id text intent state occurrences against confidence kinds was first last"


def candidate_dict(one: Candidate) -> dict[str, Any]:
    """A candidate as JSON has it."""
    return fields(one, _CANDIDATE) | {"confidence": round(one.confidence, 4)}


def example_dict(one: LearnedExample) -> dict[str, Any]:
    """A learned example as JSON has it."""
    return fields(one, "id text intent by why")


def reference_dict(one: LearnedReference) -> dict[str, Any]:
    """What a description means, as JSON has it."""
    return fields(one, "id text antecedent by")


def learned_dict(one: Learned) -> dict[str, Any]:
    """Anything learned, as JSON has it."""
    return reference_dict(one) if isinstance(one, LearnedReference) else example_dict(one)


def print_references(references: Iterable[LearnedReference]) -> None:
    """Print what descriptions mean."""
    rows = [(one.id, one.text, one.antecedent, one.by) for one in references]
    print_table(("learned", "description", "means", "by"), rows)


def print_examples(examples: Iterable[LearnedExample]) -> None:
    """Print what is learned."""
    rows = [(one.id, one.text, one.intent, one.by, one.why) for one in examples]
    print_table(("learned", "message", "intent", "by", "why"), rows)


def print_candidates(found: Iterable[Candidate]) -> None:
    """Print candidates with what speaks for them."""
    rows = [
        (one.id, one.text, one.intent, f"{one.confidence:.2f}", one.state, one.why) for one in found
    ]
    print_table(("candidate", "message", "intent", "confidence", "state", "why"), rows)


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
