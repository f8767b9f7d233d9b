"""`kds learn`: teaching an intent or what a description means, looking, and taking it back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import click

from kds.brain.learning.event import LearningEvent
from kds.brain.learning.learned_file import Learned, LearnedExample
from kds.brain.learning.phrase import phrase_key
from kds.brain.learning.reference import LearnedReference
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, command, group
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import common_options
from kds.cli.output import fields, print_line, print_table, say
from kds.learning import teaching
from kds.learning.teaching import Learning, Taught, offer

NOTHING: Final = "nothing was learned yet"
SHOWN_CHANGES: Final = 3

_FORMER: Final[Mapping[str, str]] = {
    "status": "kds learn list",
    "review": "kds learn list",
    "correct": "kds learn teach MESSAGE INTENT",
    "accept": "kds learn teach MESSAGE INTENT",
    "reject": "nothing: what you do not teach changes nothing",
}
"""What replaces the commands of earlier versions."""


class _LearnGroup(click.Group):
    """Answers with the new command where somebody types a former one."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if new := _FORMER.get(cmd_name):
            raise Refusal(f"`kds learn {cmd_name}` is gone: what you teach counts at once", new)
        return super().get_command(ctx, cmd_name)


@group(
    "kds learn teach 'give the dashboard some love' PLAN",
    "kds learn list",
    "kds learn undo --last",
    closing="More: kds help learning",
    cls=_LearnGroup,
)
def learn() -> None:
    """Teach KDS what you mean, see what it has learned, and take it back."""


@command("kds learn list --json", of=learn, name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List what is learned, and what you corrected in passing and have not taught."""
    learning = Learning(workspace)
    examples, described = learning.examples(), learning.references()
    pass_on(learning.events.load().warnings)
    corrected = learning.corrections()
    say(
        {
            "enabled": learning.enabled,
            "examples": [_as_dict(one) for one in examples],
            "references": [_as_dict(one) for one in described],
            "corrections": [fields(one, "text intent was at") for one in corrected],
            "file": str(learning.file.text),
        },
        lambda: _print_list(learning, examples, described, corrected),
    )


@command(
    "kds learn teach 'review my changes before the PR' VALIDATE",
    "kds learn teach 'ship it' COMMIT --json",
    of=learn,
    cls=MessageCommand,
)
@click.argument("message")
@click.argument("intent", shell_complete=completed_by("intents"))
@click.option("--force", is_flag=True, help="Replace what you taught MESSAGE to mean before.")
@common_options
def teach(*, message: str, intent: str, force: bool, workspace: Workspace) -> None:
    """Let MESSAGE have INTENT from now on, whatever ships says of it.

    Messages like it follow; which shipped examples read otherwise then is told. Refused when you
    taught it as another intent. Secrets in it are marked before anything is stored.
    """
    done = teaching.teach(workspace, message, intent, force=force)
    pass_on(done.warnings)
    one = done.example
    undo = f"kds learn undo {one.id}"
    told = {
        "new": done.new,
        "redacted": done.redacted,
        "instead_of": done.instead_of or None,
        "changes": [fields(change, "text intent becomes") for change in done.changes],
        "undo": undo,
        "file": str(Learning(workspace).file.text),
    }
    say(_as_dict(one) | told, "\n".join(_told(done, undo)))


@command("kds learn teach-reference 'the button' 'FAB button'", of=learn)
@click.argument("description")
@click.argument("antecedent")
@common_options
def teach_reference(*, description: str, antecedent: str, workspace: Workspace) -> None:
    """Let DESCRIPTION ('the button') mean ANTECEDENT ('FAB button') at once.

    It counts in conversations that have mentioned that thing; nothing changes in others.
    """
    done = teaching.teach_reference(workspace, description, antecedent)
    one = done.reference
    undo, what = f"kds learn undo {one.id}", "learned" if done.new else "learned before"
    say(
        _as_dict(one) | {"new": done.new, "undo": undo},
        f"{what}: {one.told}; {undo} takes it back",
    )


@command("kds learn undo 76b5b4ec", "kds learn undo --last", of=learn)
@click.argument("ids", nargs=-1, metavar="[ID...]", shell_complete=completed_by("learned"))
@click.option("--last", is_flag=True, help="Take back what was taught last.")
@common_options
def undo(*, ids: tuple[str, ...], last: bool, workspace: Workspace) -> None:
    """Take back what was learned: the file is what it was before, byte for byte."""
    if bool(ids) == last:
        raise Refusal("name what to take back", "kds learn undo ID, or kds learn undo --last")
    learning = Learning(workspace)
    taken = learning.undo_last() if last else tuple(map(learning.undo, ids))
    say(
        {"undone": [_as_dict(one) for one in taken]},
        "\n".join(f"taken back: {one.told}" for one in taken),
    )


def _as_dict(one: Learned) -> dict[str, Any]:
    what = "antecedent" if isinstance(one, LearnedReference) else "intent"
    return fields(one, f"id text {what} by")


def _told(done: Taught, undo: str) -> Iterable[str]:
    what = "learned" if done.new else "learned before"
    instead = f", no longer {done.instead_of}" if done.instead_of else ""
    yield f"{what}: {done.example.told}{instead}; {undo} takes it back"
    if done.redacted:
        yield "the secret in it is not kept"
    if done.changes:
        yield f"also changed: {_changes(done)}"


def _changes(done: Taught) -> str:
    same = phrase_key(done.example.text)
    shown = [
        f"'{one.text}' ships as an example of {one.intent}; yours counts"
        if phrase_key(one.text) == same
        else f"messages like '{one.text}' read as {one.becomes}, not {one.intent}"
        for one in done.changes[:SHOWN_CHANGES]
    ]
    more = len(done.changes) - SHOWN_CHANGES
    return "; ".join([*shown, f"{more} more"] if more > 0 else shown)


def _print_list(
    learning: Learning,
    examples: Sequence[LearnedExample],
    described: Sequence[LearnedReference],
    corrected: Sequence[LearningEvent],
) -> None:
    if not learning.enabled:
        print_line("learning", "off: nothing is recorded, and nothing learned is used")
    if not (examples or described or corrected):
        click.echo(NOTHING)
    if examples:
        rows = [(one.id, one.text, one.intent, one.by) for one in examples]
        print_table(("learned", "message", "intent", "by"), rows)
    if examples and described:
        click.echo()
    if described:
        rows = [(one.id, one.text, one.antecedent, one.by) for one in described]
        print_table(("learned", "description", "means", "by"), rows)
    if (examples or described) and corrected:
        click.echo()
    for one in corrected:
        print_line("corrected", offer(one))
