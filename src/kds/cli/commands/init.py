"""`kds init` and `kds export`: what KDS writes for coding assistants."""

import difflib
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from kds.brain.environment import HOME_VARIABLE
from kds.brain.errors import KdsError
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.command import asked_json
from kds.cli.commands.recall import bring_in
from kds.cli.guard import Refusal
from kds.cli.output import say
from kds.cli.terminal import for_people, slow
from kds.clients.apply import PlannedFile, RecordStore, carry_out, plan_undo, undo
from kds.clients.generated import export, plugin_files
from kds.clients.plan import Plan, Wish, plan_install, watches_tools
from kds.clients.project import Project, repository_of
from kds.clients.table import CLIENTS, HOOK_CLIENTS, Client, find_programs
from kds.transcripts.catalogue import AssistantMemory

_QUESTION: Final = (
    "\nImport past sessions of your assistants about this repository, and keep them current?\n"
    "They stay on this machine, in your own folder of KDS, where `kds recall` finds what was said"
)


@base.command("kds init --client claude --client vscode", "kds init --undo")
@base.choice("--client", CLIENTS, "May be repeated.  [default: those in use]", multiple=True)
@base.flag("--dry-run", "Print what would change as a diff; write nothing.")
@base.flag("--undo", "Take back all that earlier runs wrote.", to="back")
@base.flag("--hook", "The prompt hook, for Cursor as well; with --mcp, both.")
@base.flag("--mcp", "The MCP server in place of the hook.")
@base.flag("--skills", "Add the skill `kds`, for when you ask for KDS.")
@click.option("--import/--no-import", "past", default=None,
              help="Import past sessions (kds memory import).  [default: ask once]")  # fmt: skip
@click.pass_context
def init(
    ctx: click.Context, *, client: tuple[Client, ...], dry_run: bool, back: bool, hook: bool,
    mcp: bool, skills: bool, past: bool | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Write the hook, the MCP server or a skill into the project of the workspace.

    By default the hook: it adds nothing to a request but a hint, or the name of your skill, agent
    or command that fits (kds skills). --mcp is the server instead: KDS is called as a tool.

    Your files keep their entries, order, comments and layout. A second run changes nothing. Below
    the top folder of a repository, name the folder with --workspace.
    """
    is_named = ctx.get_parameter_source("workspace") is not ParameterSource.DEFAULT
    is_named = is_named or bool(os.environ.get(HOME_VARIABLE))
    project = _project(workspace, named=is_named)
    if back:
        if client or hook or mcp or skills:
            raise Refusal("--undo takes back all that kds init wrote", "kds init --undo")
        _take_back(project, dry_run=dry_run)
        return
    # the clients that seem to be in use, and those of earlier runs, each with the reason
    store = RecordStore(project)
    found = dict.fromkeys(store.load().clients, "an earlier kds init") | dict(
        project.clients_in_use()
    )
    chosen = dict.fromkeys(client, "named") or found
    if not chosen:
        raise Refusal(
            f"no assistant is in use in {project.folder}, nor on the PATH",
            f"name one: {', '.join(f'--client {one}' for one in CLIENTS)}",
        )
    every: frozenset[Client] = frozenset(chosen)
    # a client that may drop what a hook says has a rule, and the hook only if that is named
    by_hook = every if hook else frozenset() if mcp else every & HOOK_CLIENTS
    wish = Wish(
        tuple(chosen), hook=by_hook, mcp=every if mcp else frozenset(), skills=skills,
        tools=watches_tools(project),
    )  # fmt: skip
    with slow("planning the files"):
        if dry_run:
            plan = plan_install(project, wish, find_programs(), store.load())
        else:
            plan = _install(project, wish, store)
    told = bring_in(project.workspace, dry_run=dry_run)[0] if past and asked_json() else None
    end = "restart the assistants; `kds doctor` checks the rest"
    if not plan.files or not any(file.changes for file in plan.files):
        end = "nothing to change: everything is as it should be"
    _report(project.folder, plan.files, plan.notes, end, chosen, dry_run=dry_run, imported=told)
    if not asked_json() and (past or (past is None and not dry_run and _agrees(project, store))):
        say(*bring_in(project.workspace, dry_run=dry_run))


def _project(workspace: Workspace, *, named: bool) -> Project:
    """The project to set up. Raises Refusal for an unnamed folder within a repository.

    Assistants usually start at its root, and Claude Code reads no settings elsewhere; but a folder
    above the current one may not be meant.
    """
    project = Project.of(workspace)
    top = repository_of(project.folder)
    if named or workspace.brain.is_dir() or top in (None, project.folder):
        return project
    raise Refusal(
        f"{project.folder} is a folder within the repository {top}: name the one to set up",
        f"kds init --workspace {shlex.quote(str(top))}, or for this folder: kds init --workspace .",
    )


def _install(project: Project, wish: Wish, store: RecordStore) -> Plan:
    with store.hold():
        record = store.load()
        plan = plan_install(project, wish, find_programs(), record)  # may refuse: first of all
        project.workspace.ensure()
        record.clients = sorted({*record.clients, *wish.clients})
        record.hook = sorted({*record.hook, *wish.hook})
        record.mcp = sorted({*record.mcp, *wish.mcp})
        carry_out(project, plan.files, store, record)
    return plan


def _agrees(project: Project, store: RecordStore) -> bool:
    """Ask the user, once and only at a terminal, whether to import past sessions."""
    if not (for_people() and sys.stdin is not None and sys.stdin.isatty()):
        return False
    if store.load().asked_to_import or _is_imported(project):
        return False
    agreed = click.confirm(_QUESTION, default=False)
    with store.hold():
        record = store.load()
        record.asked_to_import = True
        store.save(record)
    if not agreed:
        click.echo("nothing was read; whenever you want it: kds memory import")
    return agreed


def _is_imported(project: Project) -> bool:
    """Whether sessions of the project's repository were ever imported."""
    with suppress(KdsError):  # as if they were, where a server cannot say
        with closing(AssistantMemory.of(load_settings(project.workspace))) as memory:
            found = memory.project_of(str(project.folder))
        return found is not None and found.wanted
    return True


def _take_back(project: Project, *, dry_run: bool) -> None:
    brain, store, notes = project.workspace.brain, RecordStore(project), list[str]()
    if dry_run:
        files = plan_undo(project, store.load())
    else:
        with store.hold():
            files = plan_undo(project, store.load())
            undo(project, files, store)
        project.workspace.remove_if_bare()
    if brain.is_dir():
        notes.append(f"{brain} stays, with conversations and rules: delete it if you want")
    if _is_imported(project):
        notes.append("sessions that were imported stay: kds memory delete --project . --yes")
    changes = any(file.changes for file in files)
    end = "taken back; restart the assistants" if changes else "nothing to undo here"
    _report(project.folder, files, notes, end, {}, dry_run=dry_run)


def _report(
    folder: Path, files: Sequence[PlannedFile], notes: Sequence[str], end: str,
    chosen: dict[Client, str], *, dry_run: bool, imported: object = None,
) -> None:  # fmt: skip
    """Print what changed in the files; JSON also says what was ``imported``."""
    rows: list[dict[str, Any]] = [
        {"path": file.name, "change": "remove" if file.after is None else "write",
         **({"diff": _diff(file)} if dry_run else {})}
        for file in files if file.changes
    ]  # fmt: skip
    clients = [{"client": client, "because": why} for client, why in chosen.items()]
    told = {"project": folder, "dry_run": dry_run, "clients": clients, "files": rows,
            "unchanged": len(files) - len(rows), "notes": notes}  # fmt: skip
    say(
        told | ({"imported": imported} if imported else {}),
        ("project", str(folder)),
        ("clients", ", ".join(f"{one['client']} ({one['because']})" for one in clients))
        if chosen else None,
        "".join(row.get("diff", "") for row in rows).removesuffix("\n") or None,
        [(row["change"], row["path"]) for row in rows],
        [("note", note) for note in notes],
        "a dry run: nothing was written" if rows and dry_run else end,
    )  # fmt: skip


def _diff(file: PlannedFile) -> str:
    old, new = ((text or "").splitlines(keepends=True) for text in (file.before, file.after))
    origin = "/dev/null" if file.before is None else f"a/{file.name}"
    target = "/dev/null" if file.after is None else f"b/{file.name}"
    lines = difflib.unified_diff(old, new, origin, target)
    no_end = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + no_end for line in lines)


@base.command("kds export plugin --to kds-plugin", name="export")
@click.argument("kind", type=click.Choice(["plugin"]), default="plugin")
@base.option("--to DIR", "The folder to write into.", to="folder", required=True,
             type=click.Path(path_type=Path, file_okay=False))  # fmt: skip
@base.flag("--force", "Also overwrite files that KDS did not write.")
def export_(*, kind: str, folder: Path, force: bool, workspace: Workspace) -> None:
    """Write KDS as a plugin for Claude Code: the hook, the MCP server and the skill `kds`.

    Files that KDS did not write, or that were changed since, stay unless you say --force.
    """
    found = export(plugin_files(), folder, Project.of(workspace).folder, force=force)
    written = [path for path, state in found if state != "current"]
    files = [{"path": path, "state": state} for path, state in found]
    told = f"{folder}: {len(written)} written, {len(found) - len(written)} already current"
    report = {"kind": kind, "folder": folder, "files": files}
    say(report, [("write", str(path)) for path in written], told)
