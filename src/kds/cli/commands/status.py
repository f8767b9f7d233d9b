"""`kds status`, `doctor`, `hook` and `metrics`: what KDS works with here, and how it does."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from kds.brain.clock import minute
from kds.brain.context.journal import Contexts
from kds.brain.memory.memory_store import EMPTY, KEPT, Stats
from kds.brain.settings import load_layers
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, flag, group, option
from kds.cli.guard import TESTS_FAILED, Refusal
from kds.cli.options import (
    COUNT,
    command,
    looking,
    read_span,
)
from kds.cli.output import SHOWN_ID, Shown, Table, counted, fields, mebibytes, say, show
from kds.cli.terminal import slow
from kds.clients.doctor import Finding, findings_of, is_well, leave_out, make_private
from kds.clients.plan import installed_hooks
from kds.clients.project import Project
from kds.router.prompts.library import PromptLibrary
from kds.service.lifecycle import standing_of
from kds.service.service_client import ServiceUnavailableError, team_of
from kds.service.team_client import TeamService
from kds.service.team_stores import documents_of, memory_at_team, memory_of
from kds.testing.metrics import MetricsReport, read_report
from kds.transcripts.arriving import hook_calls, with_words

_NOUNS: Final = {
    "context": "message in the context", "sessions": "session",
    "messages": "remembered message", "documents": "document",
}  # fmt: skip


@command("kds status")
def status(*, workspace: Workspace) -> None:
    """Show workspace, service, memory, model and hook, and how much is kept here.

    Nothing is started or made. `kds doctor` checks whether all of it is in order.
    """
    layers = load_layers(workspace)
    settings, service = layers.settings(), standing_of(workspace)
    state = "running" if "version" in service else service["status"]
    team: TeamService | None = None
    problem: str | None = None
    try:
        team = team_of(workspace)
        counts = _counts(workspace, team)
    except ServiceUnavailableError as error:
        counts, problem = {}, error.message
    report: dict[str, Any] = {
        "workspace": {"root": str(workspace.root), "exists": workspace.brain.is_dir()},
        "service": {"state": state, "pid": service.get("pid")},
        "memory": {
            "on": bool(settings.memory.enabled),
            "on_in_chats": settings.memory.enabled is not False,
            "from": layers.source(("memory", "enabled")),
        },
        "model": {"name": settings.model.name, "from": layers.source(("model", "name"))},
        "hooks": [hook.name for hook in installed_hooks(Project.of(workspace))],
        "team": team and {"url": team.url, "as": counts.pop("as", None), "problem": problem},
        "counts": counts,
    }
    say(report, _lines(report))


def _counts(workspace: Workspace, team: TeamService | None) -> dict[str, Any]:
    """How much is kept, here or at a team's service, and as whom that knows the user."""
    who = team and team.whoami()
    with looking(memory_of(workspace)) as memory, looking(documents_of(workspace)) as indexed:
        kept = memory.stats() if memory else EMPTY
        count = len(indexed.documents()) if indexed else 0
    entries = (team.context(None) if team else Contexts(workspace).journal().load()).entries
    counts = {"context": len(entries), **fields(kept, "sessions messages"), "documents": count}
    return counts | ({"as": f"{who.person} of {who.organisation}"} if who else {})


def _lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    place, service = report["workspace"], report["service"]
    memory, model = report["memory"], report["model"]
    yield "workspace", place["root"] + ("" if place["exists"] else " (nothing is kept yet)")
    yield "service", service["state"] + (f", pid {service['pid']}" if service["pid"] else "")
    where = "" if memory["on"] else " for `kds ask` and `kds chat` alone"
    if team := report["team"]:
        yield "team", f"{team['url']}, {team['problem'] or 'as ' + team['as']}"
    state = f"on{where}" if memory["on"] or memory["on_in_chats"] else "off"
    yield "memory", f"{state} ({memory['from']})"
    yield "model", f"{model['name']} ({model['from']})" if model["name"] else "none"
    yield "hook", ", ".join(report["hooks"]) or "not installed: kds init"
    counts = report["counts"].items()
    kept = [counted(count, _NOUNS[name]) for name, count in counts if count]
    yield "kept", ", ".join(kept) or "nothing"


@command("kds doctor --fix")
@flag("--fix", "Take away other users' rights to kds-brain, and have git ignore it.")
def doctor(*, fix: bool, workspace: Workspace) -> int:
    """Check workspace, service, hook and client files; exit code 1 when there is a problem.

    The hook is run as the assistants run it, with a message that is not remembered.
    """
    project = Project.of(workspace)
    if fix:
        done: list[Shown] = []
        if changed := make_private(project.workspace):
            done.append(f"took the rights of others from {changed} files and folders")
        if leave_out(project.workspace):
            done.append(f"added rules to {project.workspace.brain / '.gitignore'}")
        show(*([] if asked_json() else done))
    with slow("checking workspace, service, hook and clients"):
        findings = list(findings_of(project))
    well = is_well(findings)
    problems = sum(finding.mark == "problem" for finding in findings)
    end = "all is well" if well else f"{problems} to put right"
    say({"well": well, "findings": findings}, map(_finding_lines, findings), end)
    return 0 if well else TESTS_FAILED


def _finding_lines(finding: Finding) -> Iterator[Shown]:
    yield finding.mark, f"{finding.check}: {finding.found}", finding.mark
    if finding.fix:
        yield "", f"  do: {finding.fix}"


@group("kds hook why")
def hook() -> None:
    """What the hook of your assistants does; `kds init` sets it up."""


@command("kds hook why --session 5c0ffee5", of=hook)
@option("--session ID", "Only of this session of a client: its id, or the beginning of it.")
@option("--limit N", "Only the newest calls.", default=20, type=COUNT)
def why(*, session: str | None, limit: int, workspace: Workspace) -> None:
    """Show what the hook told the model and when, and why it was silent.

    The log keeps no word of a prompt: what was told is read from the sessions that Claude Code,
    Codex, Copilot CLI and Gemini CLI keep themselves.
    """
    found = hook_calls(workspace, session=session or "")
    if session and not found:
        raise Refusal(f"no session '{session}' in the hook's log", "kds hook why lists them")
    found = with_words(found[-limit:])
    rows = [
        (one.at, one.client, (one.session or "")[:SHOWN_ID], one.event,
         "\n".join([one.what, *one.told]))
        for one in found
    ]  # fmt: skip
    none = "the hook was not called here yet: kds init sets it up, kds doctor tries it"
    say({"calls": found}, Table(("time", "client", "session", "event", "what"), rows, none=none))


NOTHING: Final = """\
nothing was measured in this time
Turns and recalls are measured where the memory is on: kds config set memory.enabled on"""


@command("kds metrics --since 24h")
@option("--since TIME", "How far to look back, at most 30d.", default="7d", type=read_span)
def metrics(*, since: timedelta, workspace: Workspace) -> None:
    """Print KDS's own metrics: turns, corrections, recalls, hits, times.

    What each figure means: `kds help memory-cli`.
    """
    if since > KEPT:
        raise Refusal(f"{since.days} days are longer than measurements are kept", "at most 30d")
    corrections = PromptLibrary.sound(workspace.prompts_dir)[0].corrections()
    with looking(memory_of(workspace)) as store:
        if (team := memory_at_team(store)) is not None:
            report, stats = team.figures(since)
        else:
            report = read_report(store, since, corrections)
            stats = store.stats() if store else EMPTY
    memory = fields(stats, "sessions messages tokens size_bytes")
    say(report.as_dict() | {"memory": memory}, _metrics_lines(report, stats))


def _metrics_lines(report: MetricsReport, stats: Stats) -> Iterator[Shown]:
    tables = list(report.tables())
    if not tables:
        yield NOTHING
        return
    yield "since", minute(report.since)
    for name in ("turns", "recalls"):
        yield name, f"{sum(one[name] for one in report.figures['buckets']):,}"
    for table in tables:
        if table.key != "activity":  # a line for each hour or day
            yield [f"\n{table.title}", Table(table.heads, table.rows)]
    size = f"{counted(stats.sessions, 'session')}, {counted(stats.messages, 'message')}"
    yield f"\nmemory: {size}, {mebibytes(stats.size_bytes)}"
