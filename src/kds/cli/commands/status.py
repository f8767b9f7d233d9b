"""`kds status`, `doctor`, `hook` and `metrics`: what KDS works with here, and how it does."""

from datetime import timedelta
from typing import Final

import click

from kds.brain.clock import minute
from kds.brain.context.journal import Contexts
from kds.brain.memory.memory_store import EMPTY, KEPT
from kds.brain.settings import load_layers
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.command import asked_json
from kds.cli.guard import TESTS_FAILED, Refusal
from kds.cli.output import SHOWN_ID, Shown, Table, counted, fields, mebibytes, say, show
from kds.cli.terminal import slow
from kds.clients.doctor import findings_of, is_well, leave_out, make_private
from kds.clients.plan import installed_hooks
from kds.clients.project import Project
from kds.hooks.log import read_hook_log
from kds.router.prompts.library import PromptLibrary
from kds.service.lifecycle import standing_of
from kds.service.service_client import ServiceUnavailableError, team_of
from kds.service.team_client import TeamService
from kds.service.team_stores import documents_of, memory_of
from kds.testing.metrics import read_report
from kds.transcripts.arriving import with_words

_NOUNS: Final = {
    "context": "message in the context", "sessions": "session",
    "messages": "remembered message", "documents": "document",
}  # fmt: skip


@base.command("kds status")
def status(*, workspace: Workspace) -> None:
    """Show workspace, service, memory, model and hook, and how much is kept here.

    Nothing is started or made. `kds doctor` checks whether all of it is in order.
    """
    layers = load_layers(workspace)
    settings, service = layers.settings(), standing_of(workspace)
    state, pid = "running" if "version" in service else service["status"], service.get("pid")
    team, problem, who = None, None, None
    counts: dict[str, int] = {}
    try:
        if (team := team_of(workspace)) is not None:
            person = team.whoami()
            who = f"{person.person} of {person.organisation}"
        counts = _counts(workspace, team)
    except ServiceUnavailableError as error:
        problem = error.message
    memory, model = settings.memory.enabled, settings.model.name
    place, from_ = workspace.brain.is_dir(), layers.source(("memory", "enabled"))
    hooks = [hook.name for hook in installed_hooks(Project.of(workspace))]
    report = {
        "workspace": {"root": str(workspace.root), "exists": place},
        "service": {"state": state, "pid": pid},
        "memory": {"on": bool(memory), "on_in_chats": memory is not False, "from": from_},
        "model": {"name": model, "from": (of := layers.source(("model", "name")))},
        "hooks": hooks,
        "team": team and {"url": team.url, "as": who, "problem": problem},
        "counts": counts,
    }
    on = "on" if memory else "off" if memory is False else "on for `kds ask` and `kds chat` alone"
    kept = [counted(count, _NOUNS[name]) for name, count in counts.items() if count]
    say(
        report,
        ("workspace", f"{workspace.root}{'' if place else ' (nothing is kept yet)'}"),
        ("service", state + (f", pid {pid}" if pid else "")),
        ("team", f"{team.url}, {problem or f'as {who}'}") if team else None,
        ("memory", f"{on} ({from_})"),
        ("model", f"{model} ({of})" if model else "none"),
        ("hook", ", ".join(hooks) or "not installed: kds init"),
        ("kept", ", ".join(kept) or "nothing"),
    )


def _counts(workspace: Workspace, team: TeamService | None) -> dict[str, int]:
    """How much is kept, here or at a team's service."""
    places = memory_of(workspace), documents_of(workspace)
    with base.looking(places[0]) as memory, base.looking(places[1]) as documents:
        kept = memory.stats() if memory else EMPTY
        count = len(documents.documents()) if documents else 0
    loaded = team.context(None) if team else Contexts(workspace).journal().load()
    held = fields(kept, "sessions messages")
    return {"context": len(loaded.entries), **held, "documents": count}


@base.command("kds doctor --fix")
@base.flag("--fix", "Take away other users' rights to kds-brain, and have git ignore it.")
def doctor(*, fix: bool, workspace: Workspace) -> int:
    """Check workspace, service, hook and client files; exit code 1 when there is a problem.

    The hook is run as the assistants run it, with a message that is not remembered.
    """
    project = Project.of(workspace)
    changed = make_private(workspace) if fix else 0
    ignored = fix and leave_out(workspace)
    if not asked_json():
        show(
            f"took the rights of others from {changed} files and folders" if changed else None,
            f"added rules to {workspace.brain / '.gitignore'}" if ignored else None,
        )
    with slow("checking workspace, service, hook and clients"):
        findings = list(findings_of(project))
    well = is_well(findings)
    problems = sum(finding.mark == "problem" for finding in findings)
    lines: list[Shown] = []
    for one in findings:
        lines.append((one.mark, f"{one.check}: {one.found}", one.mark))
        lines.append(("", f"  do: {one.fix}") if one.fix else None)
    end = "all is well" if well else f"{problems} to put right"
    say({"well": well, "findings": findings}, lines, end)
    return 0 if well else TESTS_FAILED


@base.command("kds hook why --session 5c0ffee5")
@click.argument("action", type=click.Choice(["why"]), default="why")
@base.option("--session ID", "Only of this session of a client: its id, or the beginning of it.")
@base.option("--limit N", "Only the newest calls.", default=20, type=base.COUNT)
def hook(*, action: str, session: str | None, limit: int, workspace: Workspace) -> None:
    """Show what the hook told the model and when, and why it was silent.

    The log keeps no word of a prompt: what was told is read from the sessions that Claude Code,
    Codex, Copilot CLI and Gemini CLI keep themselves.
    """
    found = [
        (at, client, name, event, what if client else f"failed: {what}")
        for at, client, name, event, what in read_hook_log(workspace.brain)
        if (name or "").startswith(session or "")
    ]
    if session and not found:
        raise Refusal(f"no session '{session}' in the hook's log", "kds hook why lists them")
    calls = with_words(found[-limit:])
    rows = [
        (at, client, (name or "")[:SHOWN_ID], event, "\n".join([what, *told]))
        for at, client, name, event, what, told in calls
    ]
    none = "the hook was not called here yet: kds init sets it up, kds doctor tries it"
    heads = ("at", "client", "session", "event", "what", "told")
    told = {"calls": [dict(zip(heads, one, strict=True)) for one in calls]}
    say(told, Table(("time", *heads[1:-1]), rows, none=none))


@base.command("kds metrics --since 24h")
@base.option(
    "--since TIME", "How far to look back, at most 30d.", default="7d", type=base.read_span
)
def metrics(*, since: timedelta, workspace: Workspace) -> None:
    """Print KDS's own metrics: turns, corrections, recalls, hits, times.

    What each figure means: `kds help memory-cli`.
    """
    if since > KEPT:
        raise Refusal(f"{since.days} days are longer than measurements are kept", "at most 30d")
    corrections = PromptLibrary.sound(workspace.prompts_dir)[0].corrections()
    with base.looking(memory_of(workspace)) as store:
        report = read_report(store, since, corrections)
        stats = store.stats() if store else EMPTY
    tables = list(report.tables())
    nothing = (
        "nothing was measured in this time\nTurns and recalls are measured where the memory is on: "
        "kds config set memory.enabled on"
    )
    totals = {name: sum(one[name] for one in report.figures["buckets"])
              for name in ("turns", "recalls")}  # fmt: skip
    size = f"{counted(stats.sessions, 'session')}, {counted(stats.messages, 'message')}"
    lines: list[Shown] = [
        ("since", minute(report.since)),
        list(totals.items()),
        # activity has a line for each hour or day
        [[f"\n{one.title}", Table(one.heads, one.rows)] for one in tables if one.key != "activity"],
        f"\nmemory: {size}, {mebibytes(stats.size_bytes)}",
    ]
    memory = fields(stats, "sessions messages tokens size_bytes")
    say(report.as_dict() | {"memory": memory}, lines if tables else nothing)
