"""`kds learn` and `kds forget`: teaching KDS, taking it back, and forgetting all of it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from kds.brain.learning.examples import Learned, LearnedReference
from kds.brain.workspace import Workspace
from kds.cli.command import MessageCommand, asked_json, command, flag, group, option
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import common_options
from kds.cli.output import Shown, Table, fields, say, show
from kds.cli.progress import slow
from kds.forget import KINDS, Survey, backups, restore, survey
from kds.forget import forget as forget_all
from kds.learning import teaching
from kds.learning.teaching import Learning, offer

NOTHING: Final = "nothing was learned yet"
OFF: Final = "off: nothing is recorded, and nothing learned is used"


@group(
    "kds learn teach 'give the dashboard some love' PLAN",
    "kds learn list",
    "kds learn undo --last",
    closing="More: kds help learning",
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
        None if learning.enabled else ("learning", OFF),
        None if examples or described or corrected else NOTHING,
        _table("message intent", examples),
        _table("description means", described),
        [("corrected", offer(one)) for one in corrected],
    )


def _table(what: str, learned: Sequence[Learned]) -> Table | None:
    rows = [tuple(_as_dict(one).values()) for one in learned]
    return Table(("learned", *what.split(), "by"), rows) if rows else None


@command(
    "kds learn teach 'review my changes before the PR' VALIDATE",
    "kds learn teach 'ship it' COMMIT --json",
    "kds learn teach 'the button' --means 'FAB button'",
    of=learn,
    cls=MessageCommand,
)
@click.argument("message")
@click.argument("intent", required=False)
@option("--means THING", "In place of INTENT: what the description MESSAGE refers to.")
@flag("--force", "Replace what you taught MESSAGE to mean before.")
@common_options
def teach(
    *, message: str, intent: str | None, means: str | None, force: bool, workspace: Workspace
) -> None:
    """Teach that MESSAGE has INTENT, or that a description means a THING.

    It overrides what ships, and applies to similar messages. Refused if you taught MESSAGE with
    another intent before. Secrets are replaced by marks before anything is stored.

    A description ('the button') counts in conversations that have mentioned the thing.
    """
    if means is not None and intent is None:
        _teach_reference(workspace, message, means)
        return
    if means is not None or intent is None:
        raise Refusal("name an INTENT or --means THING", "kds prompts list shows the intents")
    done = teaching.teach(workspace, message, intent, force=force)
    pass_on(done.warnings)
    undo = f"kds learn undo {done.example.id}"
    told = {
        "new": done.new,
        "redacted": done.redacted,
        "instead_of": done.instead_of or None,
        "undo": undo,
        "file": str(Learning(workspace).file.text),
    }
    what = "learned" if done.new else "learned before"
    instead = f", no longer {done.instead_of}" if done.instead_of else ""
    say(
        _as_dict(done.example) | told,
        f"{what}: {done.example.told}{instead}; {undo} takes it back",
        "the secret in it is not kept" if done.redacted else None,
    )


def _teach_reference(workspace: Workspace, description: str, thing: str) -> None:
    done = teaching.teach_reference(workspace, description, thing)
    one = done.reference
    undo, what = f"kds learn undo {one.id}", "learned" if done.new else "learned before"
    told = f"{what}: {one.told}; {undo} takes it back"
    say(_as_dict(one) | {"new": done.new, "undo": undo}, told)


@command("kds learn undo 76b5b4ec", "kds learn undo --last", of=learn)
@click.argument("ids", nargs=-1, metavar="[ID...]")
@flag("--last", "Take back what was taught last.")
@common_options
def undo(*, ids: tuple[str, ...], last: bool, workspace: Workspace) -> None:
    """Take back what was learned; everything else in the file stays."""
    if bool(ids) == last:
        raise Refusal("name what to take back", "kds learn undo ID, or kds learn undo --last")
    learning = Learning(workspace)
    taken = [learning.undo_last()] if last else [learning.undo(one) for one in ids]
    say({"undone": [_as_dict(one) for one in taken]}, [f"taken back: {one.told}" for one in taken])


def _as_dict(one: Learned) -> dict[str, Any]:
    what = "antecedent" if isinstance(one, LearnedReference) else "intent"
    return fields(one, f"id text {what} by")


YES = "kds forget --yes"


@command(
    "kds forget --dry-run",
    "kds forget --keep documents --keep cache",
    "kds forget --restore",
    closing="More: kds help learning",
)
@flag("--dry-run", "Only show what would be deleted, and what stays.")
@flag("--yes", "Do not ask.")
@click.option("--keep", multiple=True, type=click.Choice([*KINDS]),
              help="Keep this kind; may be given several times.")  # fmt: skip
@click.option("--restore", "backup", is_flag=False, flag_value="", metavar="[BACKUP]",
              help="Bring back a backup: this one, or the newest. Newer data is not "
              "overwritten.")  # fmt: skip
@flag("--force", "With --restore: back up newer data, then replace it.")
@flag("--backups", "List the backups.", to="listing")
@common_options
def forget(
    *, dry_run: bool, yes: bool, keep: tuple[str, ...], backup: str | None, force: bool,
    listing: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Forget what was learned about this application, after a backup.

    Conversations, memory and profile, taught examples, documents, work in progress and caches are
    deleted. Prompts, rules and settings stay. Delete the backup too when nothing should be left.
    """
    if listing:
        made = backups(workspace)
        say([str(path) for path in made], [*map(str, made)] or "there are no backups")
    elif backup is not None:
        _restore(workspace, backup or None, force=force)
    else:
        _forget(workspace, survey(workspace, keep=keep), keep, dry_run=dry_run, yes=yes)


def _forget(
    workspace: Workspace, found: Survey, keep: tuple[str, ...], *, dry_run: bool, yes: bool
) -> None:
    told: Shown = _told(found) if found.files else f"nothing is remembered here: {workspace.brain}"
    if dry_run or not found.files:
        say(found, told)
        return
    if not yes:
        if not asked_json():
            show(told)
        if asked_json() or not _is_confirmed(workspace):
            raise Refusal("nothing was forgotten: it was not confirmed", YES)
    with slow("making a backup, then forgetting"):
        report = forget_all(workspace, keep=keep)
    items = "".join(f"  {item}\n" for item in report.forgotten.items)
    bring_back = "to bring it back: kds forget --restore"
    say(report, f"forgotten:\n{items}backup: {report.backup}\n{bring_back}")


def _restore(workspace: Workspace, backup: str | None, *, force: bool) -> None:
    with slow("restoring"):
        done = restore(workspace, backup, force=force)
    told = f"restored from {done.backup.name}: {', '.join(done.files)}"
    if not done.files:
        told = f"nothing to restore: everything in {done.backup.name} is here already"
    elif done.replaced:
        told += f"\nwhat they replaced is in {done.replaced}"
    say(done, told)


def _is_confirmed(workspace: Workspace) -> bool:
    """Ask once; without a terminal the answer is no."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    question = f"Forget all of this for {workspace.root}? Type 'yes'"
    answer: str = click.prompt(question, default="no", show_default=False)
    return answer.strip().lower() == "yes"


def _told(found: Survey) -> Iterator[Shown]:
    for head, rows in (
        ("to be forgotten, after a backup:", found.items),
        ("stays:", found.stays),
        ("links, which stay:", found.links),
    ):
        if rows:
            yield [head, *(f"  {one}" for one in rows)]
    yield f"\nto do it: {YES}"
