"""What of KDS a project has for a client already, whoever put it there."""

from kds.clients.project import Project
from kds.clients.settings.codexconfig import is_ours, server_in
from kds.clients.settings.entries import SERVER
from kds.clients.settings.projectfile import read_project_text
from kds.clients.settings.settingsfile import SettingsFile
from kds.clients.table import CLIENT_TABLE, CODEX_CONFIG, Client


def has_kds(project: Project, client: Client) -> bool:
    """Whether the files of a client name our hook or our server. Raises ConfigError."""
    traits = CLIENT_TABLE[client]
    if traits.hook is not None and _has_hook(project, traits.hook.file):
        return True
    return traits.server is not None and _has_server(
        project, traits.server.file, traits.server.container
    )


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
