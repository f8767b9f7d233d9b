"""`kds status`: what KDS is at work with here; `kds doctor` says whether it is well."""

from collections.abc import Mapping, Sequence
from typing import Any

from kds.brain.context.conversations import Contexts
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.errors import KdsError
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.settings import Layers, load_layers
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import BAD_INPUT, complain_about
from kds.cli.options import common_options
from kds.cli.output import counted, print_json, print_line
from kds.clients.doctor.clienthealth import installed_hooks
from kds.clients.project import Project
from kds.service.resident.background import standing_of


@command("kds status", "kds status --json")
@common_options
def status(*, workspace: Workspace) -> int:
    """Show workspace, service, memory, model and hook, and how much is kept here.

    Nothing is started or made. `kds doctor` looks whether all of it is in order.
    """
    layers = load_layers(workspace)
    counts, faults = _look(workspace)
    report = _report(workspace, layers) | {"counts": counts}
    if asked_json():
        told = [{"where": one.where, "message": one.message, "hint": one.hint} for one in faults]
        print_json(report | ({"problems": told} if told else {}))
    else:
        _show(report)
    for fault in faults:
        complain_about(fault)
    return BAD_INPUT if faults else 0


def _report(workspace: Workspace, layers: Layers) -> dict[str, Any]:
    settings, service = layers.settings(), standing_of(workspace)
    return {
        "workspace": {"root": str(workspace.root), "exists": workspace.brain.is_dir()},
        "service": {"state": service.state, "pid": service.pid},
        "memory": {
            "on": bool(settings.memory.enabled),
            "on_in_chats": settings.memory.enabled is not False,
            "from": layers.source(("memory", "enabled")),
        },
        "model": {"name": settings.model.name, "from": layers.source(("model", "name"))},
        "hooks": [hook.name for hook in installed_hooks(Project.of(workspace))],
    }


def _look(workspace: Workspace) -> tuple[Mapping[str, int], Sequence[KdsError]]:
    """How much of everything there is, and why some of it cannot be looked at."""
    counts: dict[str, int] = {}
    faults: list[KdsError] = []
    for look in (_context, _memory_counts, _documents, _own_files):
        try:
            counts |= look(workspace)
        except KdsError as error:
            faults.append(error)
    return counts, faults


def _context(workspace: Workspace) -> Mapping[str, int]:
    return {"context": len(Contexts(workspace).journal().load().entries)}


def _memory_counts(workspace: Workspace) -> Mapping[str, int]:
    with MemoryPlace.of(workspace).if_any() as memory:
        found = memory.stats() if memory else None
    return {
        "sessions": found.sessions if found else 0,
        "messages": found.messages if found else 0,
    }


def _documents(workspace: Workspace) -> Mapping[str, int]:
    with DocumentPlace.of(workspace).if_any() as documents:
        return {"documents": len(documents.documents()) if documents else 0}


def _own_files(workspace: Workspace) -> Mapping[str, int]:
    return {
        "own prompts": len(list(workspace.prompts_dir.glob("*/*.md"))),
        "own rule files": len(list(workspace.rules_dir.glob("*.yaml"))),
    }


def _show(report: Mapping[str, Any]) -> None:
    place, service, model = report["workspace"], report["service"], report["model"]
    print_line("workspace", place["root"] + ("" if place["exists"] else " (nothing is kept yet)"))
    pid = f", pid {service['pid']}" if service["pid"] else ""
    print_line("service", service["state"] + pid)
    print_line("memory", _memory(report["memory"]))
    print_line("model", f"{model['name']} ({model['from']})" if model["name"] else "none")
    print_line("hook", ", ".join(report["hooks"]) or "not installed: kds init")
    kept = [_counted(count, name) for name, count in report["counts"].items() if count]
    print_line("kept", ", ".join(kept) or "nothing")


def _memory(memory: Mapping[str, Any]) -> str:
    if memory["on"]:
        return f"on ({memory['from']})"
    where = "for `kds ask` and `kds chat` alone" if memory["on_in_chats"] else "nowhere"
    return f"on {where} ({memory['from']})"


def _counted(count: int, name: str) -> str:
    noun, behind = _NOUNS[name]
    return counted(count, noun) + behind


_NOUNS = {
    "context": ("message", " in the context"),
    "sessions": ("session", ""),
    "messages": ("remembered message", ""),
    "documents": ("document", ""),
    "own prompts": ("prompt", " of your own"),
    "own rule files": ("rule file", ""),
}
