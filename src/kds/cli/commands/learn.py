"""`kds learn` and `kds forget`: teaching KDS, taking it back, and forgetting all of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import click

from kds.brain.learning.examples import Learned
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, flag, group, option
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import command
from kds.cli.output import fields, say
from kds.cli.terminal import slow
from kds.forget import KINDS, restore, survey
from kds.forget import forget as forget_all
from kds.learning import teaching
from kds.learning.teaching import Learning, offer

NOTHING: Final = "nothing was learned yet"
OFF: Final = "off: nothing is recorded, and nothing learned is used"


@group("kds learn teach 'give the dashboard some love' PLAN", closing="More: kds help learning")
def learn() -> None:
    """Teach KDS what you mean, see what it has learned, and take it back."""


@command("kds learn list", of=learn, name="list")
def list_(*, workspace: Workspace) -> None:
    """List what is learned, and what you corrected in passing and have not taught."""
    learning = Learning(workspace)
    examples, described = learning.examples(), learning.references()
    learned: list[Learned] = [*examples, *described]
    pass_on(learning.events.load().warnings)
    corrected = learning.corrections()
    say(
        {
            "enabled": learning.enabled,
            "examples": examples,
            "references": described,
            "corrections": [fields(one, "text intent was at") for one in corrected],
            "file": str(learning.file.text),
        },
        None if learning.enabled else ("learning", OFF),
        None if learned or corrected else NOTHING,
        [(one.id, f"{one.told}, by {one.by}") for one in learned],
        [("corrected", offer(one)) for one in corrected],
    )


@command(
    "kds learn teach 'ship it' COMMIT",
    "kds learn teach 'the button' --means 'FAB button'",
    of=learn,
    cls=MessageCommand,
)
@click.argument("message")
@click.argument("intent", required=False)
@option("--means THING", "In place of INTENT: what the description MESSAGE refers to.")
@flag("--force", "Replace what you taught MESSAGE to mean before.")
def teach(
    *, message: str, intent: str | None, means: str | None, force: bool, workspace: Workspace
) -> None:
    """Teach that MESSAGE has INTENT, or that a description means a THING.

    It overrides what ships, and applies to similar messages. Refused if you taught MESSAGE with
    another intent before. Secrets are replaced by marks before anything is stored.

    A description ('the button') counts in conversations that have mentioned the thing.
    """
    if means is not None and intent is None:
        taught = teaching.teach_reference(workspace, message, means)
        _say_learned(taught.reference, new=taught.new)
        return
    if means is not None or intent is None:
        raise Refusal("name an INTENT or --means THING", "kds prompts list shows the intents")
    done = teaching.teach(workspace, message, intent, force=force)
    pass_on(done.warnings)
    instead = f", no longer {done.instead_of}" if done.instead_of else ""
    secret = "the secret in it is not kept" if done.redacted else None
    more = fields(done, "redacted instead_of") | {"file": str(Learning(workspace).file.text)}
    _say_learned(done.example, new=done.new, more=more, instead=instead, note=secret)


def _say_learned(
    one: Learned, *, new: bool, more: Mapping[str, Any] | None = None, instead: str = "",
    note: str | None = None,
) -> None:  # fmt: skip
    undo, what = f"kds learn undo {one.id}", "learned" if new else "learned before"
    told = f"{what}: {one.told}{instead}; {undo} takes it back"
    say(asdict(one) | {"new": new, "undo": undo} | dict(more or {}), told, note)


@command("kds learn undo 76b5b4ec", of=learn)
@click.argument("ids", nargs=-1, metavar="[ID...]")
@flag("--last", "Take back what was taught last.")
def undo(*, ids: tuple[str, ...], last: bool, workspace: Workspace) -> None:
    """Take back what was learned; everything else in the file stays."""
    if bool(ids) == last:
        raise Refusal("name what to take back", "kds learn undo ID, or kds learn undo --last")
    learning = Learning(workspace)
    taken = [learning.undo_last()] if last else [learning.undo(one) for one in ids]
    say({"undone": taken}, [f"taken back: {one.told}" for one in taken])


@command(
    "kds forget --keep documents --keep cache", "kds forget --yes", "kds forget --restore",
    closing="More: kds help learning",
)  # fmt: skip
@flag("--yes", "Do it; without this it is only shown.")
@click.option("--keep", multiple=True, type=click.Choice([*KINDS]),
              help="Keep this kind; may be given several times.")  # fmt: skip
@click.option("--restore", "backup", is_flag=False, flag_value="", metavar="[BACKUP]",
              help="Bring back a backup: this one, or the newest. Newer data is not "
              "overwritten.")  # fmt: skip
@flag("--force", "With --restore: back up newer data, then replace it.")
def forget(
    *, yes: bool, keep: tuple[str, ...], backup: str | None, force: bool, workspace: Workspace
) -> None:
    """Forget what was learned about this application, after a backup in kds-brain/backups.

    Conversations, memory and profile, taught examples, documents, work in progress and caches are
    deleted. Prompts, rules and settings stay. Delete the backup too when nothing should be left.
    """
    if backup is not None:
        with slow("restoring"):
            done = restore(workspace, backup or None, force=force)
        told = f"restored from {done.backup.name}: {', '.join(done.files)}"
        if not done.files:
            told = f"nothing to restore: everything in {done.backup.name} is here already"
        elif done.replaced:
            told += f"\nwhat they replaced is in {done.replaced}"
        say(done, told)
        return
    found = survey(workspace, keep=keep)
    if not yes or not found.files:
        parts = (
            ("to be forgotten, after a backup:", found.items), ("stays:", found.stays),
            ("links, which stay:", found.links),
        )  # fmt: skip
        lines = [[head, *(f"  {one}" for one in rows)] for head, rows in parts if rows]
        none = f"nothing is remembered here: {workspace.brain}"
        say(found, [lines, "\nto do it: kds forget --yes"] if found.files else none)
        return
    with slow("making a backup, then forgetting"):
        report = forget_all(workspace, keep=keep)
    items = [f"  {item}" for item in report.forgotten.items]
    bring_back = "to bring it back: kds forget --restore"
    say(report, "forgotten:", items, f"backup: {report.backup}", bring_back)
