"""Where else a client already has KDS from: user settings, and an enabled plugin.

Claude Code runs the hooks of all its settings and plugins, even when two are the same (tried
with 2.1.197); a message would be routed, and remembered, twice.
"""

from kds.clients.generated.generated_file import FRONT_DOOR
from kds.clients.project import CLAUDE_LOCAL, Project
from kds.clients.settings.settingsfile import SettingsFile
from kds.clients.table import CLAUDE_SETTINGS

_PLUGINS = "enabledPlugins"


def claude_has_own_hook(project: Project) -> str | None:
    """Why Claude Code runs our hook without one in the project, or None.

    Raises ConfigError when a settings file cannot be read.
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
