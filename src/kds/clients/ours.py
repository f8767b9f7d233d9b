"""What of KDS a client has already, whoever put it there: in the project, or for all of them."""

from kds.clients.generated.generated_file import FRONT_DOOR
from kds.clients.project import CLAUDE_LOCAL, Project
from kds.clients.settings.codexconfig import is_ours, server_in
from kds.clients.settings.entries import SERVER
from kds.clients.settings.projectfile import read_project_text
from kds.clients.settings.settingsfile import SettingsFile
from kds.clients.table import CLAUDE_SETTINGS, CLIENT_TABLE, CODEX_CONFIG, Client

_PLUGINS = "enabledPlugins"


def has_kds(project: Project, client: Client) -> bool:
    """Whether the files of a client name our hook or our server. Raises ConfigError."""
    traits = CLIENT_TABLE[client]
    if traits.hook is not None and _has_hook(project, traits.hook.file):
        return True
    return traits.server is not None and _has_server(
        project, traits.server.file, traits.server.container
    )


def claude_has_own_hook(project: Project) -> str | None:
    """Why Claude Code runs our hook without one in the project, or None. Raises ConfigError.

    Claude Code runs the hooks of all its settings and plugins, even when two are the same (tried
    with 2.1.197); a message would be routed, and remembered, twice.
    """
    user = project.claude_home / "settings.json"
    for path in (user, project.folder / CLAUDE_SETTINGS, project.folder / CLAUDE_LOCAL):
        settings = SettingsFile.at(path)
        if settings is None:
            continue
        if path == user and settings.hooks():
            return f"{path} has one for all projects"
        plugins = settings.root().find((_PLUGINS,))
        for part in plugins.parts if plugins else ():
            if str(part.key).startswith(f"{FRONT_DOOR}@") and part.node.scalar is True:
                return f"the plugin {part.key} brings it"
    return None


def _has_hook(project: Project, name: str) -> bool:
    settings = SettingsFile.at(project.path(name))
    return settings is not None and bool(settings.hooks())


def _has_server(project: Project, name: str, container: str) -> bool:
    path = project.path(name)
    if name == CODEX_CONFIG:
        entry = server_in(read_project_text(path) or "", str(path))
        return entry is not None and is_ours(entry)
    settings = SettingsFile.at(path)
    return settings is not None and settings.root().find((container, SERVER)) is not None
