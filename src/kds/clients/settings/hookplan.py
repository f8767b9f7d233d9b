"""Which files get the prompt hook: one for the clients that share theirs, one for each other."""

from typing import Final

from kds.clients.generated.opencodeplugin import opencode_plugin
from kds.clients.ours import claude_has_own_hook
from kds.clients.planning import Planning
from kds.clients.project import CLAUDE_LOCAL, OWN_HOOK_FILES
from kds.clients.settings.entries import SERVER, hook_entries, shared_command
from kds.clients.table import (
    CLAUDE_SETTINGS,
    CLIENT_TABLE,
    COPILOT_HOOKS,
    OPENCODE_PLUGIN,
    VSCODE_MCP,
    Client,
    HookPlace,
    HookStyle,
)

SHARING: Final[frozenset[Client]] = frozenset(("claude", "copilot", "vscode"))
"""Those that read the hook of Claude Code, by themselves or when their user says so."""

HOOK_CLIENTS: Final[frozenset[Client]] = SHARING | {"codex", "gemini", "opencode"}
"""Those that pass on to the model what a hook says (tried, but for VS Code). Cursor's documentation
has no such thing for prompts; its shipped client 3.20 is said to do so."""


def plan_hooks(planning: Planning) -> None:
    """Have one hook in each file that needs one. Raises ConfigError."""
    _plan_shared(planning)
    for client in planning.wish.clients:
        place = CLIENT_TABLE[client].hook
        if client in SHARING or place is None:
            continue
        if client in planning.wish.hook or planning.settings(place.file).hooks():
            _plan_hook(planning, place)
    if "opencode" in planning.wish.hook:
        planning.put_generated(OPENCODE_PLUGIN, opencode_plugin(_command(planning)).text)


def _plan_shared(planning: Planning) -> None:
    """The hook of the clients that share theirs goes to as few files as can be, and no others."""
    targets = _shared_targets(planning)
    for name in planning.project.hook_files() if targets else ():
        if name in (*targets, *OWN_HOOK_FILES):
            continue
        settings = planning.settings(name)
        if settings.hooks():
            settings.take_out_all(settings.made or None)
            planning.add(name, settings)
    for name in targets:
        style: HookStyle = "copilot" if name == COPILOT_HOOKS else "claude"
        _plan_hook(planning, HookPlace(name, style))


def _plan_hook(planning: Planning, place: HookPlace) -> None:
    prompt, start = hook_entries(_command(planning), style=place.style).items()
    settings = planning.settings(place.file)
    if place.style in ("copilot", "cursor"):
        settings.set_default("version", 1)
    # at the start of a session there is nothing to do but to start the service
    settings.set_hooks(dict([prompt, start] if planning.wish.start else [prompt]))
    planning.add(place.file, settings)


def _command(planning: Planning) -> str:
    return shared_command(start=planning.wish.start, program=planning.programs.hook)


def _shared_targets(planning: Planning) -> tuple[str, ...]:
    """The file for the hook of the clients that read that of Claude Code.

    VS Code does so only when its user has said so (`chat.useClaudeHooks`); for that one there is
    a second, and the service drops what a client that reads both sends twice.
    """
    project, wish, programs = planning.project, planning.wish, planning.programs
    readers = SHARING & wish.hook
    if not readers:
        return ()
    if (reason := claude_has_own_hook(project)) is not None:
        planning.notes.append(f"no hook for Claude Code in the project: {reason}")
        return (COPILOT_HOOKS,) if readers - {"claude"} else ()
    held = any(planning.settings(name).hooks() for name in (CLAUDE_SETTINGS, CLAUDE_LOCAL))
    if "claude" not in readers and not held:
        return (COPILOT_HOOKS,)
    first = CLAUDE_SETTINGS if programs.shared else CLAUDE_LOCAL
    return (first, COPILOT_HOOKS) if _is_for_vscode(planning, held=held) else (first,)


def _is_for_vscode(planning: Planning, *, held: bool) -> bool:
    """Whether VS Code is wanted, or was by an earlier run, which left the pair or a server."""
    paired = held and bool(planning.settings(COPILOT_HOOKS).hooks())
    asked = {*planning.wish.clients, *planning.record.clients}
    served = planning.settings(VSCODE_MCP).root().find(("servers", SERVER)) is not None
    return "vscode" in asked or paired or served
