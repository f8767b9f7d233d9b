"""`kds export`: the prompt files in the forms that assistants read."""

from pathlib import Path

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import NamedPath, common_options
from kds.cli.output import fields, print_line, say
from kds.cli.progress import slow
from kds.clients.export_plan import (
    ExportConflictError,
    FileChange,
    Kind,
    apply_changes,
    check_conflicts,
    check_links,
    generate,
    plan_export,
)
from kds.clients.project import Project
from kds.clients.table import CLIENTS, Client
from kds.router.prompts.library import PromptLibrary


@command(
    "kds export skills --to .claude/skills --client claude",
    "kds export prompts --to .github/prompts",
    "kds export agents --to .github/agents --dry-run",
    "kds export plugin --to ../kds-plugin",
)
@click.argument("kind", type=click.Choice(["skills", "prompts", "agents", "plugin"]))
@click.option(
    "--to", "folder", required=True, metavar="DIR",
    type=NamedPath(file_okay=False), help="The folder to write into.",
)  # fmt: skip
@click.option(
    "--client", type=click.Choice(CLIENTS), help="Use what this client has beyond the others."
)
@click.option("--force", is_flag=True, help="Also overwrite files that KDS did not write.")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@common_options
def export(
    *,
    kind: Kind,
    folder: Path,
    client: Client | None,
    force: bool,
    dry_run: bool,
    workspace: Workspace,
) -> None:
    """Write the prompts, your own included, as skills, prompt files, agents or a plugin.

    Files that earlier exports left and that have no prompt any more are removed. Whatever KDS
    did not write, or somebody changed since, stays unless you say --force.
    """
    library = PromptLibrary.load(workspace.prompts_dir)
    with slow("rendering the prompts"):
        changes = plan_export(kind, generate(kind, library, client=client), folder, force=force)
    check_links(folder, changes, Project.of(workspace).folder)
    if not dry_run:
        check_conflicts(changes)
        apply_changes(changes)
    files = [fields(change, "path state action") for change in changes]
    say(
        {"kind": kind, "folder": str(folder), "dry_run": dry_run, "files": files},
        lambda: _show(changes, folder, dry_run=dry_run),
    )


def _show(changes: list[FileChange], folder: Path, *, dry_run: bool) -> None:
    for change in changes:
        if change.state != "current":
            note = f" ({change.state})" if change.action == "keep" else ""
            label = f"would {change.action} " if dry_run and not note else change.action
            print_line(label, f"{change.path}{note}")
    current = sum(change.state == "current" for change in changes)
    written = sum(change.action == "write" for change in changes)
    what = "would be written" if dry_run else "written"
    click.echo(f"{folder}: {written} {what}, {current} already current")
    if dry_run:
        click.echo(_in_the_way(changes) or "a dry run: nothing was written")


def _in_the_way(changes: list[FileChange]) -> str | None:
    """What a real run would say instead of writing."""
    try:
        check_conflicts(changes)
    except ExportConflictError as error:
        count = len(error.problems)
        who = "1 file is" if count == 1 else f"{count} files are"
        return f"a dry run: nothing was written, and without it neither, as {who} in the way"
    return None
