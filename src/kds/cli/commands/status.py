"""`kds status` and `kds doctor`: what KDS works with here, and whether it is in order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from kds.brain.context.conversations import Contexts
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.errors import KdsError
from kds.brain.memory.memory_place import MemoryPlace
from kds.brain.settings import load_layers
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import BAD_INPUT, TESTS_FAILED, complain_about
from kds.cli.options import common_options
from kds.cli.output import counted, print_json, print_line, print_lines, say
from kds.cli.progress import slow
from kds.clients import workspace_health
from kds.clients.doctor import findings_of
from kds.clients.findings import Finding, is_well
from kds.clients.plan import installed_hooks
from kds.clients.project import Project
from kds.service.background import standing_of

_NOUNS: Final = {
    "context": ("message", " in the context"),
    "sessions": ("session", ""),
    "messages": ("remembered message", ""),
    "documents": ("document", ""),
    "own prompts": ("prompt", " of your own"),
    "own rule files": ("rule file", ""),
}


@command("kds status", "kds status --json")
@common_options
def status(*, workspace: Workspace) -> int:
    """Show workspace, service, memory, model and hook, and how much is kept here.

    Nothing is started or made. `kds doctor` looks whether all of it is in order.
    """
    layers = load_layers(workspace)
    settings, service = layers.settings(), standing_of(workspace)
    counts: dict[str, int] = {}
    faults: list[KdsError] = []
    for count in (_context, _memory, _documents, _own_files):
        try:
            counts |= count(workspace)
        except KdsError as error:
            faults.append(error)
    report: dict[str, Any] = {
        "workspace": {"root": str(workspace.root), "exists": workspace.brain.is_dir()},
        "service": {"state": service.state, "pid": service.pid},
        "memory": {
            "on": bool(settings.memory.enabled),
            "on_in_chats": settings.memory.enabled is not False,
            "from": layers.source(("memory", "enabled")),
        },
        "model": {"name": settings.model.name, "from": layers.source(("model", "name"))},
        "hooks": [hook.name for hook in installed_hooks(Project.of(workspace))],
        "counts": counts,
    }
    if asked_json():
        told = [{"where": one.where, "message": one.message, "hint": one.hint} for one in faults]
        print_json(report | ({"problems": told} if told else {}))
    else:
        print_lines(_lines(report))
    for fault in faults:
        complain_about(fault)
    return BAD_INPUT if faults else 0


def _context(workspace: Workspace) -> Mapping[str, int]:
    return {"context": len(Contexts(workspace).journal().load().entries)}


def _memory(workspace: Workspace) -> Mapping[str, int]:
    with MemoryPlace.of(workspace).if_any() as memory:
        found = memory.stats() if memory else None
    names = ("sessions", "messages")
    return {name: getattr(found, name) if found else 0 for name in names}


def _documents(workspace: Workspace) -> Mapping[str, int]:
    with DocumentPlace.of(workspace).if_any() as documents:
        return {"documents": len(documents.documents()) if documents else 0}


def _own_files(workspace: Workspace) -> Mapping[str, int]:
    return {
        "own prompts": len(list(workspace.prompts_dir.glob("*/*.md"))),
        "own rule files": len(list(workspace.rules_dir.glob("*.yaml"))),
    }


def _lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    place, service, memory, model = (
        report[name] for name in ("workspace", "service", "memory", "model")
    )
    yield "workspace", place["root"] + ("" if place["exists"] else " (nothing is kept yet)")
    yield "service", service["state"] + (f", pid {service['pid']}" if service["pid"] else "")
    where = "" if memory["on"] else " for `kds ask` and `kds chat` alone"
    state = f"on{where}" if memory["on"] or memory["on_in_chats"] else "off"
    yield "memory", f"{state} ({memory['from']})"
    yield "model", f"{model['name']} ({model['from']})" if model["name"] else "none"
    yield "hook", ", ".join(report["hooks"]) or "not installed: kds init"
    kept = [
        counted(count, _NOUNS[name][0]) + _NOUNS[name][1]
        for name, count in report["counts"].items()
        if count
    ]
    yield "kept", ", ".join(kept) or "nothing"


@command("kds doctor", "kds doctor --json", "kds doctor --fix")
@click.option("--fix", is_flag=True, help="Take away the rights that others have to kds-brain, "
              "and have git leave it out.")  # fmt: skip
@common_options
def doctor(*, fix: bool, workspace: Workspace) -> int:
    """Check workspace, service, hook and client files; exit code 1 when there is a problem.

    The hook is run as the assistants run it, with a message that is not remembered.
    """
    project = Project.of(workspace)
    if fix:
        changed = workspace_health.make_private(project.workspace)
        if changed and not asked_json():
            click.echo(f"took the rights of others from {changed} files and folders")
        if workspace_health.leave_out(project.workspace) and not asked_json():
            click.echo(f"added rules to {project.workspace.brain / '.gitignore'}")
    with slow("looking at workspace, service, hook and clients"):
        findings = list(findings_of(project))
    well = is_well(findings)
    say({"well": well, "findings": findings}, lambda: _show(findings, well=well))
    return 0 if well else TESTS_FAILED


def _show(findings: Sequence[Finding], *, well: bool) -> None:
    for finding in findings:
        print_line(finding.mark, f"{finding.check}: {finding.found}", tone=finding.mark)
        if finding.fix:
            print_line("", f"  do: {finding.fix}")
    problems = sum(finding.mark == "problem" for finding in findings)
    click.echo("all is well" if well else f"{problems} to put right")
