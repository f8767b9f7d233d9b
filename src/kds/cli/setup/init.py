"""`kds init`: set KDS up in the coding assistants of a project."""

import os
import shlex
import sys
from collections.abc import Collection
from typing import Final

import click
from click.core import ParameterSource

from kds.brain.discovery import HOME_VARIABLE
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import Refusal
from kds.cli.options import common_options
from kds.cli.progress import slow
from kds.cli.setup.changes import Outcome, report
from kds.clients.apply import InitRecord, PlannedFile, RecordStore, carry_out, plan_undo, undo
from kds.clients.plan import Plan, Wish, plan_install
from kds.clients.programs import find_programs
from kds.clients.project import Project, repository_of
from kds.clients.table import CLIENTS, HOOK_CLIENTS, Client
from kds.clients.workspace_health import make_private, ours_too_open
from kds.service.service_client import reach

WAYS: Final = """\
KDS can come to your assistant in two ways; one is enough:
  hook  KDS reads every prompt, and adds a line where it is sure what "it" means
  mcp   the model, or you, call KDS as a tool"""


@command("kds init --dry-run", "kds init --client claude --client vscode", "kds init --undo")
@click.option(
    "--client", "named", multiple=True, type=click.Choice(CLIENTS), help="May be repeated.  "
    "[default: those that the project or the PATH shows]",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print what would change as a diff; write nothing.")
@click.option("--full", is_flag=True, help="With --dry-run: also the text of new skills.")
@click.option("--undo", "back", is_flag=True, help="Take back all that earlier runs wrote.")
@click.option("--hook/--no-hook", default=None, help="The prompt hook, or without it.")
@click.option("--mcp/--no-mcp", default=None, help="The MCP server, or without it.")
@click.option("--skills", is_flag=True, help="Add the skill `kds`, for when you ask for KDS.")
@click.option(
    "--start/--no-start", default=True, show_default=True,
    help="Let the hook start the service in the background.",
)  # fmt: skip
@common_options
@click.pass_context
def init(
    ctx: click.Context,
    *,
    named: tuple[Client, ...],
    dry_run: bool,
    full: bool,
    back: bool,
    hook: bool | None,
    mcp: bool | None,
    skills: bool,
    start: bool,
    workspace: Workspace,
) -> None:
    """Write the hook, the MCP server or a skill into the project of the workspace.

    By default the hook alone: it adds nothing to a request but a hint where there is one. Files
    that you have keep their entries, order, comments and layout. A second run changes
    nothing. In a repository without a kds-brain/ above you, that is its top folder: where you are
    below it, you are asked first, or name the folder with --workspace.

    At a terminal it asks whether you want the hook, the MCP server or both, unless --hook or --mcp
    says so; elsewhere it takes the hook. For both: --hook --mcp.
    """
    if full and not dry_run:
        raise Refusal("--full says how much a dry run shows", "add --dry-run")
    named_here = ctx.get_parameter_source("workspace") is not ParameterSource.DEFAULT
    project, notes = _project(workspace, named=named_here)
    _ask_for_folder_above(project, workspace, writes=not (back or dry_run))
    if back:
        _refuse_a_part(project, named)
        notes += _doubts(project)
        files = _undo(project, dry_run=dry_run)
        left = _left_behind(project)
        outcome = Outcome(project.folder, files, (*notes, *left), undo=True, dry_run=dry_run)
        report(outcome, full=full)
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
    outcome = Outcome(project.folder, plan.files, (*notes, *plan.notes), chosen, dry_run=dry_run)
    report(outcome, full=full)


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
    """The project to work on, and what to tell about the choice when nobody named it."""
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
    """Have the user agree to a folder above theirs: what is in it may not be their work.

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
    plan = plan_install(project, wish, programs, store.load())  # refuses before it makes a folder
    if dry_run:
        _note_rights(plan, len(ours_too_open(project.workspace)))
        return plan
    project.workspace.ensure()
    closed = make_private(project.workspace)
    with store.hold():
        record = store.load()
        plan = plan_install(project, wish, programs, record)
        record.clients = sorted({*record.clients, *wish.clients})
        carry_out(project, plan.files, store, record)
    _note_rights(plan, closed)
    return plan


def _note_rights(plan: Plan, count: int) -> None:
    if count:
        what = "1 file or folder" if count == 1 else f"{count} files and folders"
        plan.notes.append(f"takes the rights of others from {what} in kds-brain/")


def _refuse_a_part(project: Project, named: Collection[Client]) -> None:
    """Refuse to take back some clients alone: they share files, so only all of it comes back."""
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


def _doubts(project: Project) -> list[str]:
    """A note about a record that is from elsewhere."""
    if not RecordStore(project.workspace.brain).is_foreign():
        return []
    return [
        "kds-brain/init/record.json was not written here (it is from a clone, was edited, or the "
        "folder was moved): nothing is restored from it, files only lose what is KDS's"
    ]


def _left_behind(project: Project) -> list[str]:
    """What an undo does not touch."""
    brain = project.workspace.brain
    if not brain.is_dir():
        return []
    left = [f"{brain} stays, with the conversations and your rules: delete it if you want"]
    if (client := reach(project.workspace)) is not None:
        pid = client.health().get("pid")
        left.append(f"a service is running for it (process {pid}): kds service stop")
    return left
