"""`kds forget`: delete what was learned about an application, and restore it from a backup."""

import sys
from pathlib import Path

import click

from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import Refusal
from kds.cli.options import common_options
from kds.cli.output import say
from kds.cli.progress import slow
from kds.forget import KINDS, Report, Restored, Survey, backups, restore, survey
from kds.forget import forget as forget_all

YES = "kds forget --yes"


@command(
    "kds forget --dry-run",
    "kds forget --keep documents --keep cache",
    "kds forget --restore",
    closing="More: kds help learning",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted, and what stays.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--keep", multiple=True, type=click.Choice([*KINDS]), help="Keep this kind; repeatable."
)
@click.option(
    "--restore",
    "backup",
    is_flag=False,
    flag_value="",
    metavar="[BACKUP]",
    help="Bring back a backup: this one, or the newest. Newer data is not overwritten.",
)
@click.option("--force", is_flag=True, help="With --restore: back up newer data, then replace it.")
@click.option("--backups", "listing", is_flag=True, help="List the backups.")
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
        say([str(path) for path in made], "\n".join(map(str, made)) or "there are no backups")
    elif backup is not None:
        with slow("restoring"):
            done = restore(workspace, backup or None, force=force)
        say(done, lambda: _print_restored(done))
    else:
        _forget(workspace, survey(workspace, keep=keep), keep, dry_run=dry_run, yes=yes)


def _forget(
    workspace: Workspace, found: Survey, keep: tuple[str, ...], *, dry_run: bool, yes: bool
) -> None:
    if dry_run or not found.files:
        say(found, lambda: _print_survey(found, workspace.brain))
        return
    if not yes:
        if not asked_json():
            _print_survey(found, workspace.brain)
        if asked_json() or not _is_confirmed(workspace):
            raise Refusal("nothing was forgotten: it was not confirmed", YES)
    with slow("making a backup, then forgetting"):
        report = forget_all(workspace, keep=keep)
    say(report, lambda: _print_report(report))


def _is_confirmed(workspace: Workspace) -> bool:
    """Ask once; without a terminal the answer is no."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    question = f"Forget all of this for {workspace.root}? Type 'yes'"
    answer: str = click.prompt(question, default="no", show_default=False)
    return answer.strip().lower() == "yes"


def _print_survey(found: Survey, brain: Path) -> None:
    if not found.files:
        click.echo(f"nothing is remembered here: {brain}")
        return
    for heading, lines in (
        ("to be forgotten, after a backup:", found.items),
        ("stays:", found.stays),
        ("links, which stay:", found.links),
    ):
        if lines:
            click.echo("\n".join((heading, *(f"  {line}" for line in lines))))
    click.echo(f"\nto do it: {YES}")


def _print_report(report: Report) -> None:
    click.echo("forgotten:")
    for item in report.forgotten.items:
        click.echo(f"  {item}")
    click.echo(f"backup: {report.backup}\nto bring it back: kds forget --restore")


def _print_restored(done: Restored) -> None:
    if not done.files:
        click.echo(f"nothing to restore: everything in {done.backup.name} is here already")
        return
    click.echo(f"restored from {done.backup.name}: {', '.join(done.files)}")
    if done.replaced:
        click.echo(f"what they replaced is in {done.replaced}")
