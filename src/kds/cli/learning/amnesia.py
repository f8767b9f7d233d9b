"""`kds amnesia`: forgetting what was learned about an application, with a way back."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from kds.amnesia.backup import Backup, list_backups
from kds.amnesia.forgetting import Report, Restored, forget, remove_backup
from kds.amnesia.forgetting import restore as restore_backup
from kds.amnesia.inventory import KINDS, Survey, survey, told
from kds.brain.visible import one_line
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.guard import Refusal
from kds.cli.options import common_options, find_workspace
from kds.cli.output import print_json, print_line, print_table, say
from kds.cli.palette import shown
from kds.cli.progress import slow

NOTHING: Final = "nothing is remembered here"

keep_option = click.option(
    "--keep",
    "keep",
    multiple=True,
    type=click.Choice(KINDS),
    help="Leave this kind alone; may be given several times.",
)


@group(
    "kds amnesia --dry-run",
    "kds amnesia --keep documents --keep cache",
    "kds amnesia restore",
    invoke_without_command=True,
    closing="More: kds help learning",
)
@click.option("--dry-run", is_flag=True, help="Only show what would go, and what stays.")
@click.option("--yes", is_flag=True, help="Do it without being asked.")
@keep_option
@common_options
@click.pass_context
def amnesia(
    ctx: click.Context, *, dry_run: bool, yes: bool, keep: tuple[str, ...],
    workspace: Path | None,
) -> None:  # fmt: skip
    """Forget what was learned about this application, after a backup that can be restored.

    Conversations, memory and profile, learned examples, documents, work in progress and caches go.
    Prompts, rules and settings stay.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = find_workspace(workspace)
    present = survey(found, keep=keep)
    if dry_run or present.is_empty:
        _show_survey(present, dry_run=True)
        return
    if not yes:
        if not asked_json():
            _show_survey(present, dry_run=False)
        if asked_json() or not _confirmed(present):
            raise Refusal("nothing was forgotten: there was no yes", "kds amnesia --yes")
    with slow("making a backup, then forgetting"):
        report = forget(found, keep=keep)
    say(report, lambda: _print_report(report))


@command("kds amnesia restore", "kds amnesia restore NAME --force", of=amnesia)
@click.argument("backup", required=False, metavar="[BACKUP]")
@click.option("--force", is_flag=True, help="Put newer data away first, in a backup of its own.")
@common_options
def restore(*, backup: str | None, force: bool, workspace: Workspace) -> None:
    """Bring back what a backup holds: BACKUP, or the newest. Newer data is not overwritten."""
    with slow("restoring"):
        done = restore_backup(workspace, backup, force=force)
    say(done.as_dict(), lambda: _print_restored(done))


@command("kds amnesia backups", "kds amnesia backups --remove NAME", of=amnesia)
@click.option("--remove", metavar="BACKUP", help="Delete this one for good.")
@common_options
def backups(*, remove: str | None, workspace: Workspace) -> None:
    """List the backups, or delete one: only then its bytes are gone too."""
    gone = remove_backup(workspace, remove) if remove else None
    present = list_backups(workspace)
    say(
        present,
        f"deleted {gone.path}" if gone else lambda: _print_backups(present),
    )


def _confirmed(present: Survey) -> bool:
    """Ask once, and take nothing but a yes; where nobody can answer, that is a no."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    question = f"Forget all of this for {present.workspace.root}? Only 'yes' does it"
    answer: str = click.prompt(question, default="no", show_default=False)
    return answer.strip().lower() == "yes"


def _show_survey(present: Survey, *, dry_run: bool) -> None:
    if asked_json():
        print_json(present.as_dict() | {"dry_run": True})
        return
    if present.is_empty:
        click.echo(f"{NOTHING}: {present.workspace.brain}")
        return
    rows = [(item.label, told(item.counts)) for item in present.items if item.files]
    print_table(("will be forgotten" if not dry_run else "would be forgotten", ""), rows)
    click.echo()
    for index, line in enumerate(present.stays):
        print_line("stays" if index == 0 else "", line)
    for name in present.links:
        print_line("a link", f"{name} leads elsewhere and stays")
    if dry_run:
        click.echo("\nkds amnesia --yes does it, after a backup")


def _print_report(report: Report) -> None:
    after = {item.kind: item for item in report.after.items}
    rows = [
        (item.label, told(item.counts), told(after[item.kind].counts))
        for item in report.before.items
        if item.files
    ]
    print_table(("forgotten", "before", "now"), rows)
    click.echo()
    print_line("backup", str(report.backup))
    for note in report.notes:
        print_line("note", note)
    print_line("way back", "kds amnesia restore")


def _print_restored(done: Restored) -> None:
    if not done.files:
        click.echo(f"nothing to restore: all that {done.backup.name} holds is here already")
        return
    held = ", ".join(told(counts) for counts in done.backup.counts.values())
    click.echo(f"restored {len(done.files)} files from {done.backup.name}: {held}")
    if done.before:
        print_line("before", f"what stood in their place is in {done.before}")


def _print_backups(present: Iterable[Backup]) -> None:
    columns = ("backup", "made", "size", "holds")
    print_table(columns, map(_backup_row, present), none="there are no backups")


def _backup_row(one: Backup) -> tuple[str, str, str, str]:
    holds = one.problem or ", ".join(told(counts) for counts in one.counts.values())
    return (
        one_line(one.name),
        shown(one.at) if one.at else "",
        f"{one.size_bytes / 1024:,.0f} kB",
        holds,
    )
