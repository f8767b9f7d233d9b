"""`kds doctor`: is everything in order, and what to do where it is not."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import click

from kds.brain.errors import ConfigError
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import common_options, find_workspace
from kds.cli.output import print_json, print_line
from kds.cli.progress import slow
from kds.clients import clienthealth, servicehealth, workspacehealth
from kds.clients.copilottrust import trust
from kds.clients.health import Checks, Finding, examine, is_well, this_kds
from kds.clients.project import Project
from kds.router.prompts.library import PromptLibrary


@click.command(
    epilog="""\b
Examples:
  kds doctor
  kds doctor --json
  kds doctor --fix"""
)
@click.option("--fix", is_flag=True, help="Take away the rights that others have to kds-brain.")
@common_options
def doctor(*, fix: bool, as_json: bool, workspace: Path | None) -> int:
    """Check workspace, service, hook and client files; exit code 1 when there is a problem.

    The hook is run as the assistants run it, with a message that is not remembered.
    """
    project = Project.of(find_workspace(workspace))
    if fix:
        changed = workspacehealth.make_private(project.workspace)
        if changed and not as_json:
            click.echo(f"took the rights of others from {changed} files and folders")
    with slow("looking at workspace, service, hook and clients"):
        findings = list(_findings(project))
    well = is_well(findings)
    if as_json:
        print_json({"well": well, "findings": [_row(finding) for finding in findings]})
    else:
        _show(findings)
        problems = sum(finding.mark == "problem" for finding in findings)
        click.echo("all is well" if well else f"{problems} to put right")
    return 0 if well else TESTS_FAILED


def _findings(project: Project) -> Iterator[Finding]:
    workspace = project.workspace

    @cache
    def library() -> PromptLibrary:
        return PromptLibrary.load(workspace.prompts_dir)

    checks: dict[str, Checks] = {
        "kds": this_kds,
        "programs": clienthealth.programs,
        "workspace": partial(workspacehealth.place, workspace),
        "privacy": partial(workspacehealth.rights, workspace),
        "settings": partial(workspacehealth.settings, workspace),
        "context": partial(workspacehealth.context, workspace),
        "rules": partial(workspacehealth.rules, workspace),
        "prompts": lambda: workspacehealth.prompts(workspace, library()),
        "service": lambda: servicehealth.service(workspace, _commands(project).values()),
        "hook files": partial(clienthealth.hooks, project),
        "hook": partial(_hook, project),
        "hook log": partial(servicehealth.hook_log, workspace),
        "mcp": partial(clienthealth.servers, project),
        "trust": lambda: trust(project, has_hook=bool(_commands(project))),
        "skills": lambda: clienthealth.skills(project, library()),
        "pages": partial(clienthealth.pages, project),
        "clients": clienthealth.clients,
    }
    told = set()
    for name, look in checks.items():
        for finding in examine(name, look):
            if finding.mark != "problem" or finding.found not in told:  # two checks, one file
                told.add(finding.found)
                yield finding


def _hook(project: Project) -> Iterator[Finding]:
    yield from servicehealth.hook(project.workspace, project.folder, _installed(project))


def _installed(project: Project) -> dict[str, str]:
    return {hook.name: hook.command for hook in clienthealth.installed_hooks(project)}


def _commands(project: Project) -> dict[str, str]:
    """The installed hooks, for checks of other things; none where their files are broken."""
    with suppress(ConfigError):  # the checks of the hook say so
        return _installed(project)
    return {}


def _row(finding: Finding) -> dict[str, str | None]:
    return {
        "check": finding.check,
        "mark": finding.mark,
        "found": finding.found,
        "fix": finding.fix,
    }


def _show(findings: Sequence[Finding]) -> None:
    for finding in findings:
        print_line(finding.mark, f"{finding.check}: {finding.found}")
        if finding.fix:
            print_line("", f"  do: {finding.fix}")
