"""`kds init`: set KDS up in the coding assistants of a project."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import click

from kds.cli.guard import Refusal
from kds.cli.options import find_workspace, json_option, workspace_option
from kds.cli.output import print_json, print_line
from kds.clients.generated import CLIENTS, Client
from kds.clients.installation import InstallPlan, PlannedFile, Wish, plan_install
from kds.clients.programs import find_programs
from kds.clients.project import Project
from kds.clients.record import InitRecord, RecordStore
from kds.clients.undo import carry_out, plan_undo, undo
from kds.router.library import PromptLibrary


@click.command(
    epilog="""\b
Examples:
  kds init --dry-run
  kds init --client claude --client vscode
  kds init --undo"""
)
@click.option(
    "--client", "named", multiple=True, type=click.Choice(CLIENTS), help="May be repeated.  "
    "[default: those that the project or the PATH shows]",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print what would change as a diff; write nothing.")
@click.option("--undo", "back", is_flag=True, help="Take back what earlier runs wrote.")
@click.option("--no-hook", is_flag=True, help="Leave the prompt hook out.")
@click.option("--no-mcp", is_flag=True, help="Leave the MCP server out.")
@click.option("--no-skills", is_flag=True, help="Leave the skills out.")
@click.option(
    "--start/--no-start", default=True, show_default=True,
    help="Let the hook start the service in the background.",
)  # fmt: skip
@json_option
@workspace_option
def init(
    *,
    named: tuple[Client, ...],
    dry_run: bool,
    back: bool,
    no_hook: bool,
    no_mcp: bool,
    no_skills: bool,
    start: bool,
    as_json: bool,
    workspace: Path | None,
) -> None:
    """Write the hook, the MCP server and the skills into the project of the workspace.

    Files that you have keep their entries, order, comments and layout. A second run changes
    nothing.
    """
    project = Project.of(find_workspace(workspace))
    if back:
        files = _undo(project, dry_run=dry_run)
        _report(project, files, [], [], dry_run=dry_run, as_json=as_json)
        return
    chosen = [(client, "named") for client in named] or list(project.signs())
    if not chosen:
        raise Refusal(
            f"no assistant is in use in {project.folder}, nor on the PATH",
            f"name one: {', '.join(f'--client {client}' for client in CLIENTS)}",
        )
    wish = Wish(
        tuple(dict.fromkeys(client for client, _ in chosen)),
        hook=not no_hook, mcp=not no_mcp, skills=not no_skills, start=start,
    )  # fmt: skip
    plan = _install(project, wish, dry_run=dry_run)
    _report(project, plan.files, plan.notes, chosen, dry_run=dry_run, as_json=as_json)


def _install(project: Project, wish: Wish, *, dry_run: bool) -> InstallPlan:
    programs = find_programs()
    library = PromptLibrary.load(project.workspace.prompts_dir)
    store = RecordStore(project.workspace.brain)
    if dry_run:
        return plan_install(project, wish, programs, library, store.load())
    plan_install(project, wish, programs, library, store.load())  # refuses before it makes a folder
    project.workspace.ensure()
    with store.hold():
        record = store.load()
        plan = plan_install(project, wish, programs, library, record)
        carry_out(project, plan.files, store, record)
    return plan


def _undo(project: Project, *, dry_run: bool) -> list[PlannedFile]:
    store = RecordStore(project.workspace.brain)
    if dry_run or not project.workspace.brain.is_dir():
        return plan_undo(project, store.load() if store.folder.is_dir() else InitRecord(), store)
    with store.hold():
        files = plan_undo(project, store.load(), store)
        undo(project, files, store)
    return files


def _report(
    project: Project,
    files: Sequence[PlannedFile],
    notes: Sequence[str],
    chosen: Sequence[tuple[Client, str]],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    changed = [file for file in files if file.changes]
    if as_json:
        print_json(
            {
                "project": str(project.folder),
                "dry_run": dry_run,
                "clients": [{"client": client, "because": why} for client, why in chosen],
                "files": [{"path": file.name, "change": _change(file)} for file in changed],
                "unchanged": len(files) - len(changed),
                "notes": list(notes),
            }
        )
        return
    print_line("project", str(project.folder))
    if chosen:
        print_line("clients", ", ".join(f"{client} ({why})" for client, why in chosen))
    if dry_run:
        for line in _diff(changed):
            click.echo(line, nl=False)
    for label, text in _grouped(changed):
        print_line(label, text)
    for note in notes:
        print_line("note", note)
    if not changed:
        click.echo("nothing to change: everything is as it should be")
    elif dry_run:
        click.echo("a dry run: nothing was written")
    elif chosen:
        click.echo("restart the assistants; `kds doctor` checks the rest")


def _change(file: PlannedFile) -> str:
    return "remove" if file.after is None else "write"


def _grouped(files: Sequence[PlannedFile]) -> Iterator[tuple[str, str]]:
    """One line a file; the skills of one folder are one line."""
    skills: Counter[tuple[str, str]] = Counter()
    for file in files:
        if file.kind == "generated":
            skills[_change(file), str(PurePosixPath(file.name).parent.parent)] += 1
        else:
            yield _change(file), file.name
    for (change, folder), count in skills.items():
        yield change, f"{folder}/ ({count} skills)"


def _diff(files: Sequence[PlannedFile]) -> Iterator[str]:
    for file in files:
        old, new = ((text or "").splitlines(keepends=True) for text in (file.before, file.after))
        origin = "/dev/null" if file.before is None else f"a/{file.name}"
        target = "/dev/null" if file.after is None else f"b/{file.name}"
        for line in difflib.unified_diff(old, new, origin, target):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
