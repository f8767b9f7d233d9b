"""`kds learn`: what was learned from corrections and clarifications, and deciding about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import click

from kds.brain.learning.candidate import Candidate
from kds.brain.learning.evidence import ACT_MIN, ASK_MIN, MIN_OCCURRENCES
from kds.brain.learning.learned_file import LearnedExample
from kds.brain.learning.reference import LearnedReference
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, command, group
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal, pass_on
from kds.cli.learning.review import (
    candidate_dict,
    example_dict,
    learned_dict,
    print_candidates,
    print_examples,
    print_references,
    reference_dict,
    review,
)
from kds.cli.options import common_options
from kds.cli.output import print_line, say
from kds.cli.progress import slow
from kds.learning import example_teaching, references
from kds.learning.learning import SWITCH_ON, Learning, standing_of
from kds.router.prompts.library import PromptLibrary

NOTHING: Final = "nothing was learned yet"

ids_argument = click.argument(
    "ids", nargs=-1, required=True, metavar="ID...", shell_complete=completed_by("proposals")
)


@group(
    "kds learn status",
    "kds learn review",
    "kds learn teach 'give the dashboard some love' PLAN",
    closing="More: kds help learning",
)
def learn() -> None:
    """Review what was learned from your corrections; accept it, or take it back."""


@command("kds learn status --json", of=learn)
@common_options
def status(*, workspace: Workspace) -> None:
    """Say how much is waiting, proposed and learned, and whether learning is on."""
    learning = Learning(workspace)
    found = learning.candidates()
    examples, described = learning.examples(), learning.references()
    counts = Counter[str](one.state for one in found)
    pass_on(learning.events.load().warnings)
    say(
        {
            "enabled": learning.enabled,
            "learned": len(examples),
            "references": len(described),
            "by_itself": [example_dict(one) for one in examples if one.by == "itself"],
            "proposed": counts["proposed"] + counts["due"],
            "waiting": counts["waiting"],
            "rejected": counts["rejected"],
            "refused": counts["refused"],
            "events": str(learning.events.text),
            "examples": str(learning.file.text),
        },
        lambda: _print_status(learning, counts, examples, described),
    )


@command("kds learn list --json", of=learn, name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List what is learned, and every candidate with what speaks for it."""
    learning = Learning(workspace)
    found, examples = learning.candidates(), learning.examples()
    described = learning.references()
    pass_on(learning.events.load().warnings)
    open_ones = [one for one in found if one.state != "learned"]
    say(
        {
            "examples": [example_dict(one) for one in examples],
            "references": [reference_dict(one) for one in described],
            "candidates": [candidate_dict(one) for one in found],
        },
        lambda: _print_list(examples, described, open_ones),
    )


@command("kds learn correct 'give the dashboard some love' PLAN", of=learn, cls=MessageCommand)
@click.argument("message")
@click.argument("intent", shell_complete=completed_by("intents"))
@common_options
def correct(*, message: str, intent: str, workspace: Workspace) -> None:
    """Say that MESSAGE has INTENT: one event, which changes nothing by itself."""
    learning = Learning(workspace)
    if not learning.enabled:
        raise Refusal("learning is off", SWITCH_ON)
    one = learning.tell(message, intent, PromptLibrary.load(workspace.prompts_dir))
    say(candidate_dict(one), f"noted: {standing_of(one)}")


@command(
    "kds learn teach 'review my changes before the PR' VALIDATE",
    "kds learn teach 'give the dashboard some love' PLAN --json",
    of=learn,
    cls=MessageCommand,
)
@click.argument("message")
@click.argument("intent", shell_complete=completed_by("intents"))
@common_options
def teach(*, message: str, intent: str, workspace: Workspace) -> None:
    """Make MESSAGE an example of INTENT at once; some seconds for a new model.

    Messages like it follow. Refused when it would turn examples that ship with KDS to another
    intent. Secrets in it are marked before anything is stored.
    """
    with slow("trying it against the examples that ship"):
        done = example_teaching.teach(workspace, message, intent)
    pass_on(done.warnings)
    one = done.example
    undo, what = f"kds learn undo {one.id}", "learned" if done.new else "learned before"
    told = {"new": done.new, "redacted": done.redacted, "undo": undo}
    secret = "\nthe secret in it is not kept" if done.redacted else ""
    say(
        candidate_dict(one) | told | {"file": str(Learning(workspace).file.text)},
        f"{what}: '{one.text}' as {one.intent}; {undo} takes it back{secret}",
    )


@command("kds learn teach-reference 'the button' 'FAB button'", of=learn)
@click.argument("description")
@click.argument("antecedent")
@common_options
def teach_reference(*, description: str, antecedent: str, workspace: Workspace) -> None:
    """Let DESCRIPTION ('the button') mean ANTECEDENT ('FAB button') at once.

    It counts in conversations that have mentioned that thing; nothing changes in others.
    """
    done = references.teach_reference(workspace, description, antecedent)
    one = done.reference
    undo, what = f"kds learn undo {one.id}", "learned" if done.new else "learned before"
    say(
        reference_dict(one) | {"new": done.new, "undo": undo},
        f"{what}: {one.told}; {undo} takes it back",
    )


@command("kds learn accept 76b5b4ec", of=learn)
@ids_argument
@common_options
def accept(*, ids: tuple[str, ...], workspace: Workspace) -> None:
    """Make proposals examples of their intents, all or none; some seconds for a new model.

    Refused when one would turn examples that ship with KDS to another intent.
    """
    learning = Learning(workspace)
    shipped = PromptLibrary.load(workspace.prompts_dir)
    with slow("trying it against the examples that ship"):
        chosen = learning.accept(ids, shipped)
        warnings = example_teaching.fitted(shipped, learning.place)
    pass_on(warnings)
    _show_decided(chosen, "learned", back="kds learn undo")


@command("kds learn reject 76b5b4ec", of=learn)
@ids_argument
@common_options
def reject(*, ids: tuple[str, ...], workspace: Workspace) -> None:
    """Never propose these again."""
    chosen = Learning(workspace).reject(ids)
    _show_decided(chosen, "rejected")


@command("kds learn undo 76b5b4ec", "kds learn undo --last", of=learn)
@click.argument("ids", nargs=-1, metavar="[ID...]", shell_complete=completed_by("learned"))
@click.option("--last", is_flag=True, help="Take back what was accepted last.")
@common_options
def undo(*, ids: tuple[str, ...], last: bool, workspace: Workspace) -> None:
    """Take back what was learned: the file is what it was before, byte for byte."""
    if bool(ids) == last:
        raise Refusal("name what to take back", "kds learn undo ID, or kds learn undo --last")
    learning = Learning(workspace)
    taken = learning.undo_last() if last else tuple(map(learning.undo, ids))
    say(
        {"undone": [learned_dict(one) for one in taken]},
        "\n".join(f"taken back: {one.told}" for one in taken),
    )


learn.add_command(review)


def _print_list(
    examples: Sequence[LearnedExample],
    described: Sequence[LearnedReference],
    open_ones: Sequence[Candidate],
) -> None:
    if not (examples or described or open_ones):
        click.echo(NOTHING)
    if examples:
        print_examples(examples)
    if examples and described:
        click.echo()
    if described:
        print_references(described)
    if open_ones:
        click.echo()
        print_candidates(open_ones)


def _print_status(
    learning: Learning,
    counts: Mapping[str, int],
    examples: Sequence[LearnedExample],
    described: Sequence[LearnedReference],
) -> None:
    off = "off: nothing is recorded, and nothing learned is used"
    print_line("learning", "on" if learning.enabled else off)
    own = [one for one in examples if one.by == "itself"]
    print_line("learned", f"{len(examples)}, {len(own)} of them by itself (>= {ACT_MIN})")
    for one in own:
        print_line("", f"{one.id} '{one.text}' as {one.intent}: {one.why}")
    if described:
        print_line("", f"{len(described)} more say what a description means: kds learn list")
    proposed = counts["proposed"] + counts["due"]
    print_line("proposed", f"{proposed} (>= {ASK_MIN}){'; kds learn review' if proposed else ''}")
    print_line("waiting", f"{counts['waiting']} (below, or fewer than {MIN_OCCURRENCES} times)")
    print_line("rejected", f"{counts['rejected']}, {counts['refused']} more would do harm")
    print_line("file", str(learning.file.text))


def _show_decided(chosen: Sequence[Candidate], what: str, *, back: str | None = None) -> None:
    backs = [f"; {back} {one.id} takes it back" if back else "" for one in chosen]
    lines = [
        f"{what}: '{one.text}' as {one.intent}{way}" for one, way in zip(chosen, backs, strict=True)
    ]
    say({what: [candidate_dict(one) for one in chosen]}, "\n".join(lines))
