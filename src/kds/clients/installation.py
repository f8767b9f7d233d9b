"""What `kds init` is to change in a project: planned as a whole before anything is written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kds.brain.errors import ConfigError, Problem
from kds.brain.installation import install_line
from kds.brain.workspace import BRAIN
from kds.clients.doubling import claude_has_own_hook
from kds.clients.entries import SERVER, HookStyle, hook_settings, mcp_server, shared_command
from kds.clients.export import plan_export
from kds.clients.generated import Client
from kds.clients.ignorefile import with_lines
from kds.clients.jsontext import KeyPath
from kds.clients.programs import Programs
from kds.clients.project import (
    CLAUDE_LOCAL,
    CLAUDE_SETTINGS,
    CLAUDE_SKILLS,
    COMMON_SKILLS,
    COPILOT_HOOKS,
    COPILOT_MCP,
    CURSOR_MCP,
    IGNORE_FILE,
    SHARED_MCP,
    SKILL_FOLDERS,
    VSCODE_MCP,
    Project,
)
from kds.clients.projectfile import read_project_text
from kds.clients.record import FileKind, InitRecord
from kds.clients.settingsfile import EMPTY, HOOKS, SettingsFile
from kds.clients.skills import skill_files
from kds.router.prompts.library import PromptLibrary

HOOK_CLIENTS: Final[frozenset[Client]] = frozenset(("claude", "copilot", "vscode"))
"""Those that run a command with each prompt; Cursor's cannot pass anything on to the model."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked `kds init` for. ``start``: the hook may start the service."""

    clients: tuple[Client, ...]
    hook: bool = True
    mcp: bool = True
    skills: bool = True
    start: bool = True


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of the project before and after; None where there is none."""

    name: str
    kind: FileKind
    before: str | None
    after: str | None
    made: tuple[KeyPath, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything is to be written or removed."""
        return self.before != self.after


@dataclass(slots=True)
class InstallPlan:
    """The files in the order they are written, and what the user should know."""

    files: list[PlannedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan_install(
    project: Project, wish: Wish, programs: Programs, library: PromptLibrary, record: InitRecord
) -> InstallPlan:
    """Say what is to change, without changing anything.

    Raises ConfigError with every file that cannot be worked with, DispatchError when a prompt
    cannot be rendered.
    """
    plan = InstallPlan()
    problems: list[Problem] = []
    steps = (
        _plan_hooks if wish.hook else None,
        _plan_servers if wish.mcp else None,
        _plan_skills if wish.skills else None,
        _plan_ignored,
    )
    for step in steps:
        try:
            if step is not None:
                step(_Planning(project, wish, programs, library, record, plan))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return plan


@dataclass(frozen=True, slots=True)
class _Planning:
    """Everything that the steps of one plan share."""

    project: Project
    wish: Wish
    programs: Programs
    library: PromptLibrary
    record: InitRecord
    plan: InstallPlan

    def settings(self, name: str) -> SettingsFile:
        """A settings file as it stands, or an empty one."""
        path = self.project.path(name)
        known = self.record.files.get(name)
        text = read_project_text(path)
        made = list(known.made) if known and text is not None else []
        return SettingsFile(str(path), text or EMPTY, made)

    def add(self, name: str, settings: SettingsFile) -> None:
        """Plan a settings file as it has become; one that was made for us goes when bare."""
        before = read_project_text(self.project.path(name))
        known = self.record.files.get(name)
        ours = known is not None and known.before is None
        after: str | None = settings.text
        if (before is None or ours) and settings.is_bare():
            after = None
        made = tuple(settings.made)
        self.plan.files.append(PlannedFile(name, "settings", before, after, made))


def _plan_hooks(planning: _Planning) -> None:
    targets = _hook_targets(planning)
    for name in planning.project.hook_files() if targets else ():
        settings = planning.settings(name)
        if name not in targets and settings.hooks():
            settings.take_out_all(settings.made or None)
            planning.add(name, settings)
    for target in targets:
        _plan_hook(planning, target)


def _plan_hook(planning: _Planning, target: str) -> None:
    style: HookStyle = "copilot" if target == COPILOT_HOOKS else "claude"
    command = shared_command(start=planning.wish.start, program=planning.programs.hook)
    hooks = hook_settings(command, style=style)[HOOKS]
    assert isinstance(hooks, dict)
    settings = planning.settings(target)
    if style == "copilot":
        settings.set_default("version", 1)
    settings.set_hooks(_wanted_events(hooks, start=planning.wish.start))
    planning.add(target, settings)


def _wanted_events(hooks: dict[str, object], *, start: bool) -> dict[str, object]:
    """At the start of a session there is nothing to do but to start the service."""
    return (
        {event: entry[0] for event, entry in hooks.items() if isinstance(entry, list)}
        if start
        else {
            event: entry[0] for event, entry in list(hooks.items())[:1] if isinstance(entry, list)
        }
    )


def _hook_targets(planning: _Planning) -> tuple[str, ...]:
    """The file for the hook: all clients but Cursor read that of Claude Code.

    VS Code does so only when its user has said so (`chat.useClaudeHooks`); for that one there is
    a second, and the service drops what a client that reads both sends twice.
    """
    project, wish, programs = planning.project, planning.wish, planning.programs
    readers = HOOK_CLIENTS & set(wish.clients)
    if not readers:
        if "cursor" in wish.clients:
            planning.plan.notes.append(
                "Cursor's prompt hook cannot pass anything on to the model: no hook for it"
            )
        return ()
    if (reason := claude_has_own_hook(project)) is not None:
        planning.plan.notes.append(f"no hook for Claude Code in the project: {reason}")
        return (COPILOT_HOOKS,) if readers - {"claude"} else ()
    held = _claude_has_hook(planning)
    if "claude" not in readers and not held:
        return (COPILOT_HOOKS,)
    first = CLAUDE_SETTINGS if programs.shared else CLAUDE_LOCAL
    return (first, COPILOT_HOOKS) if _is_for_vscode(planning, held=held) else (first,)


def _claude_has_hook(planning: _Planning) -> bool:
    return any(planning.settings(name).hooks() for name in (CLAUDE_SETTINGS, CLAUDE_LOCAL))


def _is_for_vscode(planning: _Planning, *, held: bool) -> bool:
    """Whether VS Code is wanted, or was by an earlier run, which left the pair or a server."""
    paired = held and bool(planning.settings(COPILOT_HOOKS).hooks())
    served = planning.settings(VSCODE_MCP).root().find(("servers", SERVER)) is not None
    return "vscode" in planning.wish.clients or paired or served


def _plan_servers(planning: _Planning) -> None:
    kds, project = planning.programs.kds, planning.project
    clients = planning.wish.clients
    if {"claude", "copilot"} & set(clients):
        only_copilot = "claude" not in clients and not project.path(SHARED_MCP).exists()
        theirs = project.path(COPILOT_MCP).exists()
        name = COPILOT_MCP if only_copilot and theirs else SHARED_MCP
        _plan_server(planning, name, "mcpServers", mcp_server(kds, style="claude"))
        if theirs and name == SHARED_MCP:
            planning.plan.notes.append(
                f"the Copilot CLI does not read {COPILOT_MCP} where there is a {SHARED_MCP}: "
                "move your servers there"
            )
    if "vscode" in clients:
        _plan_server(planning, VSCODE_MCP, "servers", mcp_server(kds, style="vscode"))
    if "cursor" in clients:
        _plan_server(planning, CURSOR_MCP, "mcpServers", mcp_server(kds, style="cursor"))
    if not planning.programs.shared:
        planning.plan.notes.append(
            "kds is not on the PATH outside of an environment, so the files name it by its path "
            "on this machine: do not commit them, or install it first with "
            f"`{install_line(tool='pipx install')}`"
        )


def _plan_server(planning: _Planning, name: str, container: str, entry: dict[str, object]) -> None:
    settings = planning.settings(name)
    settings.set_server(container, entry)
    planning.add(name, settings)


def _plan_skills(planning: _Planning) -> None:
    project = planning.project
    installed = (project.folder / CLAUDE_SKILLS / "kds" / "SKILL.md").exists()
    for_claude = "claude" in planning.wish.clients or installed
    target = CLAUDE_SKILLS if for_claude else COMMON_SKILLS
    files = skill_files(planning.library, client="claude" if for_claude else None)
    for folder in SKILL_FOLDERS:
        wanted = files if folder == target else []
        for change in plan_export("skills", wanted, project.path(folder)):
            name = project.name(change.path)
            kept = change.action == "keep"
            if kept and change.state != "current":
                why = "changed by hand" if change.state == "edited" else "not written by KDS"
                planning.plan.notes.append(f"{name} stays as it is: {why}")
            after = change.old if kept else change.new
            planning.plan.files.append(PlannedFile(name, "generated", change.old, after))


def _plan_ignored(planning: _Planning) -> None:
    project = planning.project
    path = project.path(IGNORE_FILE)
    before = read_project_text(path)
    after = before or ""
    for lines, covered in ignored_lines(project, local=_is_local(planning)):
        after = with_lines(after, lines, covered=covered)
    planning.plan.files.append(PlannedFile(IGNORE_FILE, "ignore", before, after or None))


def _is_local(planning: _Planning) -> bool:
    return any(file.name == CLAUDE_LOCAL and file.after for file in planning.plan.files)


def ignored_lines(
    project: Project, *, local: bool
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Our groups of lines for `.gitignore`, each with the lines that would do as well.

    Rules are the user's own work and are not ignored.
    """
    brain = project.name(project.workspace.brain)
    yield (
        (f"{brain}/*", f"!{brain}/rules/", f"!{brain}/english/"),
        tuple(f"{slash}{name}" for name in (brain, f"{brain}/", BRAIN, f"{BRAIN}/", f"{BRAIN}/*")
              for slash in ("", "/")),
    )  # fmt: skip
    if local:
        yield (CLAUDE_LOCAL,), (".claude", ".claude/", "/.claude", "/.claude/", f"/{CLAUDE_LOCAL}")
