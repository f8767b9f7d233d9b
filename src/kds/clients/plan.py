"""What `kds init` is to change in a project: planned as a whole before anything is written."""

import shlex
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kds.brain.errors import ConfigError, Problem
from kds.brain.installation import install_line
from kds.brain.settings import load_settings
from kds.clients import table
from kds.clients.apply import FileKind, InitRecord, PlannedFile, ignored_lines
from kds.clients.generated import (
    FRONT_DOOR,
    command_in,
    cursor_rule,
    digest_in,
    digest_of,
    is_one_skill,
    one_skill,
    opencode_plugin,
    state_of,
)
from kds.clients.project import Project, read_project_text
from kds.clients.settings_file import (
    EMPTY,
    PROMPT_EVENTS,
    SettingsFile,
    hook_entries,
    mcp_server,
    with_codex_server,
    with_lines,
)
from kds.clients.table import CLIENT_TABLE, SHARED_MCP, SHARING, Client, HookPlace, Programs

_NOT_SHARED: Final = (
    "kds is not on the PATH outside of an environment, so the files name it by its path on this "
    f"machine: do not commit them, or install it first with `{install_line(tool='pipx install')}`"
)


class Wish(NamedTuple):
    """What `kds init` is asked for; ``hook`` and ``mcp`` name those of the clients that get one.

    ``tools``: the hook is asked about calls of tools that may read a file (`hook.secrets`).
    """

    clients: tuple[Client, ...]
    hook: frozenset[Client] = frozenset()
    mcp: frozenset[Client] = frozenset()
    skills: bool = False
    tools: bool = False


class InstalledHook(NamedTuple):
    """A prompt hook of ours: the file it is in, and its command line."""

    name: str
    command: str


def plan_install(project: Project, wish: Wish, programs: Programs, record: InitRecord) -> "Plan":
    """Say what is to change, without changing anything.

    Raises ConfigError with every file that cannot be worked with.
    """
    plan = Plan(project, wish, programs, record)
    problems: list[Problem] = []
    for step in (plan.plan_hooks, plan.plan_servers, plan.plan_own_files, plan.plan_ignored):
        try:
            step()
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    plan.note_paths()
    return plan


def installed_hooks(project: Project) -> list[InstalledHook]:
    """Our prompt hooks in the project, one entry for each. Raises ConfigError."""
    found = []
    for name in project.hook_files():
        text = read_project_text(project.folder / name)
        for hook in SettingsFile(str(project.folder / name), text).hooks() if text else ():
            if hook.event in PROMPT_EVENTS:
                found.append(InstalledHook(name, hook.command))
    plugin = read_project_text(project.folder / table.OPENCODE_PLUGIN)
    if plugin and (command := command_in(plugin)):
        found.append(InstalledHook(table.OPENCODE_PLUGIN, command))
    return found


def recorded_wish(project: Project, record: InitRecord) -> Wish:
    """What `kds init` was asked for here."""
    hook, mcp = frozenset(record.hook), frozenset(record.mcp)
    return Wish(tuple(record.clients), hook, mcp, tools=watches_tools(project))


def watches_tools(project: Project) -> bool:
    """Whether the settings ask for a look at calls of tools. Raises SettingsError."""
    return load_settings(project.workspace).hook.secrets != "off"


@dataclass(frozen=True, slots=True)
class Plan:
    """The files that a wish changes, and notes for the user."""

    project: Project
    wish: Wish
    programs: Programs
    record: InitRecord
    planned: dict[str, PlannedFile] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[PlannedFile]:
        """In the order in which they are written."""
        return list(self.planned.values())

    def plan_hooks(self) -> None:
        """Have one hook in each file that needs one. Raises ConfigError."""
        if SHARING & self.wish.hook:
            self._plan_shared_hooks()
        for client in self.wish.clients:
            place = CLIENT_TABLE[client].hook
            if client in SHARING or place is None:
                continue
            if client in self.wish.hook or self._settings(place.file).hooks():
                self._plan_hook(place)
        if "opencode" in self.wish.hook:
            command = table.hook_command(self.programs.hook)
            plugin = opencode_plugin(command, tools=self.wish.tools)
            self._put_generated(table.OPENCODE_PLUGIN, plugin)

    def _plan_shared_hooks(self) -> None:
        """The clients that read Claude Code's hook find it in as few files as possible.

        VS Code does so only if its user turned that on (`chat.useClaudeHooks`); it gets a second
        hook, and the service ignores the repeated prompt of a client that reads both.
        """
        clients = {*self.wish.clients, *self.record.clients}
        of_claude = (table.CLAUDE_SETTINGS, table.CLAUDE_LOCAL)
        held = any(self._settings(name).hooks() for name in of_claude)
        targets = [of_claude[not self.programs.shared]]
        if "claude" not in self.wish.hook and not held:
            targets = []
        if not targets or "vscode" in clients:
            targets.append(table.COPILOT_HOOKS)
        for name in self.project.hook_files():
            settings = self._settings(name)
            if name not in (*targets, *table.OWN_HOOK_FILES) and settings.hooks():
                settings.set_hooks({})
                self._put_settings(name, settings)
        for name in targets:
            self._plan_hook(HookPlace(name, "claude" if name in of_claude else "copilot"))

    def _plan_hook(self, place: HookPlace) -> None:
        settings = self._settings(place.file)
        if place.style in ("copilot", "cursor"):
            settings.set_default("version", 1)
        command = table.hook_command(self.programs.hook)
        settings.set_hooks(hook_entries(command, style=place.style, tools=self.wish.tools))
        self._put_settings(place.file, settings)

    def plan_servers(self) -> None:
        """Have the MCP server in the file of each client that is to get it. Raises ConfigError."""
        kds = self.programs.kds
        for client in (one for one in self.wish.clients if one in self.wish.mcp):
            if (place := CLIENT_TABLE[client].server) is None:
                continue
            name = self._server_file(client, place.file)
            if name == table.CODEX_CONFIG:
                text = self.project.read(name) or ""
                after = with_codex_server(text, kds, str(self.project.path(name)))
                self._put(name, "toml", after)
                continue
            settings = self._settings(name)
            settings.set_server(place.container, mcp_server(kds, style=place.style))
            self._put_settings(name, settings)
        if (
            SHARED_MCP in self.planned
            and "copilot" in self.wish.clients
            and self._exists(table.COPILOT_MCP)
        ):
            self.notes.append(
                f"the Copilot CLI does not read {table.COPILOT_MCP} if there is a {SHARED_MCP}: "
                "move your servers there"
            )

    def _server_file(self, client: Client, usual: str) -> str:
        """The file for the server: the one in which the user keeps theirs."""
        if client == "opencode":
            return next(filter(self._exists, table.OPENCODE_CONFIGS), usual)
        alone = client == "copilot" and "claude" not in self.wish.clients
        if alone and not self._exists(SHARED_MCP) and self._exists(table.COPILOT_MCP):
            return table.COPILOT_MCP
        return usual

    def plan_own_files(self) -> None:
        """The one skill where it is asked for or there, and a rule for Cursor, which always reads
        its description."""
        kds = shlex.quote(self.programs.kds)  # as a shell calls it
        clients = {*self.wish.clients, *self.record.clients}
        wanted = {table.CLAUDE_SKILLS if "claude" in clients else table.COMMON_SKILLS}
        if clients & {"codex", "gemini"}:
            wanted.add(table.COMMON_SKILLS)
        for folder in table.SKILL_FOLDERS:
            name = f"{folder}/{FRONT_DOOR}/SKILL.md"
            text = self.project.read(name)
            there = text is not None and is_one_skill(text)
            if text is not None and not there:
                if self.wish.skills and folder in wanted:
                    self.notes.append(f"{name} stays as it is: not written by kds init")
            elif folder in wanted if self.wish.skills else there:
                for_claude = folder == table.CLAUDE_SKILLS
                self._put_generated(name, one_skill(kds, for_claude=for_claude))
            elif text is not None and digest_in(text) == digest_of(text):
                self._put(name, "generated", None)
        if "cursor" in self.wish.clients:
            self._put_generated(table.CURSOR_RULE, cursor_rule(kds))

    def plan_ignored(self) -> None:
        """Have git ignore the conversations, and settings that are for this machine alone."""
        after = self.project.read(table.IGNORE_FILE) or ""
        local = self.planned.get(table.CLAUDE_LOCAL)
        for lines, covered in ignored_lines(self.project, local=bool(local and local.after)):
            after = with_lines(after, lines, covered=covered)
        self._put(table.IGNORE_FILE, "ignore", after or None)

    def note_paths(self) -> None:
        """Say that files name a program by its path, if others will read them."""
        names = (self.programs.kds, self.programs.hook)
        texts = [file.after or "" for file in self.files if file.name != table.CLAUDE_LOCAL]
        if not self.programs.shared and any(name in text for text in texts for name in names):
            self.notes.append(_NOT_SHARED)

    def _settings(self, name: str) -> SettingsFile:
        """A settings file as an earlier step leaves it, as it is, or an empty one."""
        planned = self.planned.get(name)
        text = planned.after if planned else self.project.read(name)
        return SettingsFile(str(self.project.path(name)), text or EMPTY)

    def _put_settings(self, name: str, settings: SettingsFile) -> None:
        """Plan a settings file; one that KDS made goes if nothing is left in it."""
        before, known = self.project.read(name), self.record.files.get(name)
        made_here = before is None or (known is not None and known.before is None)
        self._put(name, "settings", None if made_here and settings.is_bare() else settings.text)

    def _put(self, name: str, kind: FileKind, after: str | None) -> None:
        """Plan a file; it replaces an earlier plan for it."""
        self.planned[name] = PlannedFile(name, kind, self.project.read(name), after)

    def _put_generated(self, name: str, text: str) -> None:
        """Plan a file of KDS's own, unless a foreign or edited one is there."""
        before = self.project.read(name)
        stays = {"edited": "changed by hand", "foreign": "not written by KDS"}
        if why := stays.get(state_of(before, text)):
            self.notes.append(f"{name} stays as it is: {why}")
        self._put(name, "generated", before if why else text)

    def _exists(self, name: str) -> bool:
        return self.project.path(name).exists()
