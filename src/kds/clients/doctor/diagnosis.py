"""Everything that `kds doctor` looks at: workspace, service, hook, clients."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial

from kds.brain.errors import ConfigError
from kds.clients.doctor import clienthealth, servicehealth, workspacehealth
from kds.clients.doctor.finding import Checks, Finding, examine, this_kds
from kds.clients.doctor.trust import codex_trust, copilot_trust
from kds.clients.project import Project
from kds.router.prompts.library import PromptLibrary


def findings_of(project: Project) -> Iterator[Finding]:
    """What every check found, in the order of the checks; a check that fails is a finding."""
    workspace = project.workspace

    @cache
    def library() -> PromptLibrary:
        return PromptLibrary.load(workspace.prompts_dir)

    checks: dict[str, Checks] = {
        "kds": this_kds,
        "programs": clienthealth.programs,
        "workspace": partial(workspacehealth.place, workspace),
        "privacy": partial(workspacehealth.rights, workspace),
        "git": partial(workspacehealth.committed, workspace),
        "settings": partial(workspacehealth.settings, workspace),
        "context": partial(workspacehealth.context, workspace),
        "rules": partial(workspacehealth.rules, workspace),
        "prompts": lambda: workspacehealth.prompts(workspace, library()),
        "service": lambda: servicehealth.service(workspace, _commands(project).values()),
        "hook files": partial(clienthealth.hooks, project),
        "hook": lambda: servicehealth.hook(workspace, project.folder, _installed(project)),
        "hook log": partial(servicehealth.hook_log, workspace),
        "mcp": partial(clienthealth.servers, project),
        "trust": lambda: copilot_trust(project, has_hook=bool(_commands(project))),
        "trust of Codex": partial(codex_trust, project),
        "skills": lambda: clienthealth.skills(project, library()),
        "pages": partial(clienthealth.pages, project),
        "commands": partial(clienthealth.commands, project),
        "clients": clienthealth.clients,
    }
    told = set()
    for name, look in checks.items():
        for finding in examine(name, look):
            if finding.mark != "problem" or finding.found not in told:  # two checks, one file
                told.add(finding.found)
                yield finding


def _installed(project: Project) -> dict[str, str]:
    return {hook.name: hook.command for hook in clienthealth.installed_hooks(project)}


def _commands(project: Project) -> dict[str, str]:
    """The installed hooks, for checks of other things; none where their files are broken."""
    with suppress(ConfigError):  # the checks of the hook say so
        return _installed(project)
    return {}
