"""`kds init` and `kds export`: what KDS writes for coding assistants."""

import difflib
import os
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import click
from click.core import ParameterSource

from kds.brain.discovery import HOME_VARIABLE
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, flag
from kds.cli.guard import Refusal
from kds.cli.options import NamedPath, common_options
from kds.cli.output import counted, fields, print_line, print_lines, say
from kds.cli.progress import slow
from kds.clients.apply import InitRecord, PlannedFile, RecordStore, carry_out, plan_undo, undo
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
from kds.clients.plan import Plan, Wish, plan_install
from kds.clients.programs import find_programs
from kds.clients.project import Project, repository_of
from kds.clients.table import CLIENTS, HOOK_CLIENTS, Client
from kds.clients.workspace_health import make_private, ours_too_open
from kds.router.prompts.library import PromptLibrary

WAYS: Final = """\
KDS can come to your assistant in two ways; one is enough:
  hook  KDS reads every prompt, and adds a line where it is sure what "it" means
  mcp   the model, or you, call KDS as a tool"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the files of a project. ``chosen``: the clients, each with the reason."""

    folder: Path
    files: Sequence[PlannedFile]
    notes: Sequence[str]
    chosen: Sequence[tuple[Client, str]] = ()
    undo: bool = False
    dry_run: bool = False
    full: bool = False

    @property
    def changed(self) -> list[PlannedFile]:
        """The files that are not as they were."""
        return [file for file in self.files if file.changes]


@command("kds init --dry-run", "kds init --client claude --client vscode", "kds init --undo")
@click.option(
    "--client", "named", multiple=True, type=click.Choice(CLIENTS),
    help="May be repeated.  [default: those that the project or the PATH shows]",
)  # fmt: skip
@flag("--dry-run", "Print what would change as a diff; write nothing.")
@flag("--full", "With --dry-run: also the text of new skills.")
@flag("--undo", "Take back all that earlier runs wrote.", to="back")
@click.option("--hook/--no-hook", default=None, help="The prompt hook, or without it.")
@click.option("--mcp/--no-mcp", default=None, help="The MCP server, or without it.")
@flag("--skills", "Add the skill `kds`, for when you ask for KDS.")
@click.option("--start/--no-start", default=True, show_default=True,
              help="Let the hook start the service in the background.")  # fmt: skip
@common_options
@click.pass_context
def init(
    ctx: click.Context, *, named: tuple[Client, ...], dry_run: bool, full: bool, back: bool,
    hook: bool | None, mcp: bool | None, skills: bool, start: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Write the hook, the MCP server or a skill into the project of the workspace.

    By default the hook alone: it adds nothing to a request but a hint where there is one. Files
    that you have keep their entries, order, comments and layout. A second run changes
    nothing. In a repository without a kds-brain/ above you, that is its top folder: where you are
    below it, you are asked first, or name the folder with --workspace.

    At a terminal it asks whether you want the hook, the MCP server or both, unless --hook or --mcp
    decides that; elsewhere it takes the hook. For both: --hook --mcp.
    """
    if full and not dry_run:
        raise Refusal("--full says how much a dry run shows", "add --dry-run")
    named_here = ctx.get_parameter_source("workspace") is not ParameterSource.DEFAULT
    project, notes = _project(workspace, named=named_here)
    _ask_for_folder_above(project, workspace, writes=not (back or dry_run))
    if back:
        _refuse_a_part(project, named)
        if RecordStore(project.workspace.brain).is_foreign():
            notes.append(
                "kds-brain/init/record.json was not written here (it is from a clone, was edited, "
                "or the folder was moved): nothing is restored from it, files only lose what is "
                "KDS's"
            )
        files = _undo(project, dry_run=dry_run)
        notes += _left_behind(project)
        _report(Outcome(project.folder, files, notes, undo=True, dry_run=dry_run, full=full))
        return
    chosen = [(client, "named") for client in named] or _found(project, _record(project))
    if not chosen:
        raise Refusal(
            f"no assistant is in use in {project.folder}, nor on the PATH",
            f"name one: {', '.join(f'--client {client}' for client in CLIENTS)}",
        )
    clients = tuple(dict.fromkeys(client for client, _ in chosen))
    by_hook, has_mcp = _ways(clients, hook=hook, mcp=mcp, ask=not asked_json())
    by_mcp = frozenset(clients if has_mcp else ())
    wish = Wish(clients, hook=by_hook, mcp=by_mcp, skills=skills, start=start)
    with slow("planning the files"):
        plan = _install(project, wish, dry_run=dry_run)
    notes += plan.notes
    _report(Outcome(project.folder, plan.files, notes, chosen, dry_run=dry_run, full=full))


def _found(project: Project, record: InitRecord) -> list[tuple[Client, str]]:
    """The clients that seem to be in use, and those of earlier runs, each with the reason."""
    found = dict(project.clients_in_use())
    return list((dict.fromkeys(record.clients, "an earlier kds init") | found).items())


def _ways(
    clients: Collection[Client], *, hook: bool | None, mcp: bool | None, ask: bool
) -> tuple[frozenset[Client], bool]:
    """For which clients the hook is wanted, and whether the MCP server is.

    One is enough, so naming one leaves the other out. A client that may drop what a hook says
    gets a rule, and the hook only if it is named.
    """
    certain = HOOK_CLIENTS & set(clients)
    if hook is not None or mcp is not None:
        by_hook = not mcp if hook is None else hook
        hooked = frozenset(clients) if hook else certain if by_hook else frozenset()
        return hooked, not by_hook if mcp is None else mcp
    if not (ask and certain and _at_terminal()):
        return certain, False
    click.echo(WAYS)
    way = click.prompt("which", type=click.Choice(["hook", "mcp", "both"]), default="hook")
    return (frozenset() if way == "mcp" else certain), way != "hook"


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _project(workspace: Workspace, *, named: bool) -> tuple[Project, list[str]]:
    """The project to work on, and what to say about the choice when nobody named it."""
    if named or os.environ.get(HOME_VARIABLE, "").strip():
        return Project.of(workspace), []
    project = Project.new(workspace)
    top = repository_of(project.folder)
    if project.workspace != workspace:
        here = f"for {workspace.root} alone: kds init --workspace ."
        return project, [f"this is the top folder of the repository; {here}"]
    if top is not None and top != project.folder:
        whole = f"for all of it: kds init --workspace {shlex.quote(str(top))}"
        return project, [f"this is a folder within the repository {top}; {whole}"]
    return project, []


def _ask_for_folder_above(project: Project, workspace: Workspace, *, writes: bool) -> None:
    """Have the user agree to a folder above theirs: its content may not be their work.

    Raises Refusal where nobody can be asked, and click.Abort for a no.
    """
    if project.workspace == workspace or not writes:
        return
    whole = f"kds init --workspace {shlex.quote(str(project.folder))}"
    question = f"{project.folder} is the top of the repository that {workspace.root} is in"
    if asked_json() or not _at_terminal():
        here = "for the present folder alone: kds init --workspace ."
        raise Refusal(f"{question}: name the one to set up", f"{whole}, or {here}")
    click.confirm(f"{question}. Set KDS up there?", abort=True)


def _record(project: Project) -> InitRecord:
    store = RecordStore(project.workspace.brain)
    return store.load() if store.folder.is_dir() else InitRecord()


def _install(project: Project, wish: Wish, *, dry_run: bool) -> Plan:
    programs = find_programs()
    store = RecordStore(project.workspace.brain)
    plan = plan_install(project, wish, programs, store.load())  # may refuse: first of all
    if dry_run:
        opened = len(ours_too_open(project.workspace))
    else:
        project.workspace.ensure()
        opened = make_private(project.workspace)
        with store.hold():
            record = store.load()
            plan = plan_install(project, wish, programs, record)
            record.clients = sorted({*record.clients, *wish.clients})
            carry_out(project, plan.files, store, record)
    if opened:
        what = "1 file or folder" if opened == 1 else f"{opened} files and folders"
        plan.notes.append(f"takes the rights of others from {what} in kds-brain/")
    return plan


def _refuse_a_part(project: Project, named: Collection[Client]) -> None:
    """Refuse to take back only some clients: they share files."""
    if not named:
        return
    stay = [f"--client {one}" for one in _record(project).clients if one not in named]
    again = f", then `kds init {' '.join(stay)}`" if stay else ""
    raise Refusal("--undo takes back every client, not one alone", f"kds init --undo{again}")


def _undo(project: Project, *, dry_run: bool) -> list[PlannedFile]:
    store = RecordStore(project.workspace.brain)
    if dry_run or not project.workspace.brain.is_dir():
        return plan_undo(project, _record(project), store)
    with store.hold():
        files = plan_undo(project, store.load(), store)
        undo(project, files, store)
    store.leave()
    project.workspace.remove_if_bare()
    return files


def _left_behind(project: Project) -> list[str]:
    """What an undo does not touch."""
    brain = project.workspace.brain
    if not brain.is_dir():
        return []
    left = [f"{brain} stays, with the conversations and your rules: delete it if you want"]
    return left


def _report(outcome: Outcome) -> None:
    """Print what became of the files."""
    changed = outcome.changed
    told = {
        "project": str(outcome.folder),
        "dry_run": outcome.dry_run,
        "clients": [{"client": client, "because": why} for client, why in outcome.chosen],
        "files": [_row(file, outcome) for file in changed],
        "unchanged": len(outcome.files) - len(changed),
        "notes": list(outcome.notes),
    }
    say(told, lambda: _print(outcome))


def _row(file: PlannedFile, outcome: Outcome) -> dict[str, str | None]:
    row: dict[str, str | None] = {"path": file.name, "change": _change(file)}
    if outcome.dry_run:
        row["diff"] = _diff(file) if _worth_showing(file, outcome) else None
    return row


def _print(outcome: Outcome) -> None:
    print_line("project", str(outcome.folder))
    if outcome.chosen:
        print_line("clients", ", ".join(f"{client} ({why})" for client, why in outcome.chosen))
    hidden = 0
    for file in outcome.changed if outcome.dry_run else ():
        if _worth_showing(file, outcome):
            click.echo(_diff(file), nl=False)
        else:
            hidden += 1
    print_lines(_grouped(outcome.changed))
    if hidden:
        print_line("", f"--full shows the text of {hidden} generated files")
    print_lines(("note", note) for note in outcome.notes)
    click.echo(_last_line(outcome))


def _last_line(outcome: Outcome) -> str:
    if not outcome.changed:
        nothing = "nothing to change: everything is as it should be"
        return "nothing to undo here" if outcome.undo else nothing
    if outcome.dry_run:
        return "a dry run: nothing was written"
    if outcome.undo:
        return "taken back; restart the assistants"
    return "restart the assistants; `kds doctor` checks the rest"


def _worth_showing(file: PlannedFile, outcome: Outcome) -> bool:
    """Generated text that is new, or goes, is long: its name is enough without --full."""
    is_new_or_gone = file.before is None or file.after is None
    return outcome.full or file.kind != "generated" or not is_new_or_gone


def _change(file: PlannedFile) -> str:
    return "remove" if file.after is None else "write"


def _grouped(files: Sequence[PlannedFile]) -> Iterator[tuple[str, str]]:
    """One line a file; the skills of one folder are one line."""
    skills: Counter[tuple[str, str]] = Counter()
    for file in files:
        if file.name.endswith("/SKILL.md"):
            skills[_change(file), str(PurePosixPath(file.name).parent.parent)] += 1
        else:
            yield _change(file), file.name
    for (change, folder), count in skills.items():
        yield change, f"{folder}/ ({counted(count, 'skill')})"


def _diff(file: PlannedFile) -> str:
    old, new = ((text or "").splitlines(keepends=True) for text in (file.before, file.after))
    origin = "/dev/null" if file.before is None else f"a/{file.name}"
    target = "/dev/null" if file.after is None else f"b/{file.name}"
    lines = difflib.unified_diff(old, new, origin, target)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


@command(
    "kds export skills --to .claude/skills --client claude",
    "kds export prompts --to .github/prompts",
    "kds export agents --to .github/agents --dry-run",
    "kds export plugin --to ../kds-plugin",
)
@click.argument("kind", type=click.Choice(["skills", "prompts", "agents", "plugin"]))
@click.option("--to", "folder", required=True, metavar="DIR", type=NamedPath(file_okay=False),
              help="The folder to write into.")  # fmt: skip
@click.option("--client", type=click.Choice(CLIENTS),
              help="Use what this client has beyond the others.")  # fmt: skip
@flag("--force", "Also overwrite files that KDS did not write.")
@flag("--dry-run", "Say what would be written; write nothing.")
@common_options
def export(
    *, kind: Kind, folder: Path, client: Client | None, force: bool, dry_run: bool,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Write the prompts, your own included, as skills, prompt files, agents or a plugin.

    Files that earlier exports left for prompts that are gone are removed. Files that KDS did not
    write, or that were changed since, stay unless you say --force.
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
        lambda: _print_export(changes, folder, dry_run=dry_run),
    )


def _print_export(changes: list[FileChange], folder: Path, *, dry_run: bool) -> None:
    for change in changes:
        if change.state != "current":
            note = f" ({change.state})" if change.action == "keep" else ""
            label = f"would {change.action} " if dry_run and not note else change.action
            print_line(label, f"{change.path}{note}")
    current = sum(change.state == "current" for change in changes)
    written = sum(change.action == "write" for change in changes)
    what = "would be written" if dry_run else "written"
    click.echo(f"{folder}: {written} {what}, {current} already current")
    if not dry_run:
        return
    nothing = "a dry run: nothing was written"
    try:
        check_conflicts(changes)
    except ExportConflictError as error:
        count = len(error.problems)
        who = "1 file is" if count == 1 else f"{count} files are"
        nothing += f", and without it neither, as {who} in the way"
    click.echo(nothing)
