"""Are the files in order that clients read, and which clients are there?"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.git import is_tracked
from kds.brain.installation import install_line
from kds.clients.doctor.finding import Finding
from kds.clients.generated.mark import digest_in, digest_of, state_of
from kds.clients.generated.opencodeplugin import command_in, opencode_plugin
from kds.clients.generated.skills import is_one_skill, one_skill, skill_files
from kds.clients.generated.standing_rules import (
    command_named,
    cursor_rule,
    section_in,
    with_section,
)
from kds.clients.ours import claude_has_own_hook, has_kds
from kds.clients.programs import (
    VERSION_TIMEOUT_S,
    beyond_launchers,
    calls_server,
    fault_of,
    find_programs,
)
from kds.clients.project import (
    ALONE_IN_COMMON,
    CLAUDE_LOCAL,
    CLAUDE_SKILLS,
    COMMON_SKILLS,
    MCP_FILES,
    OWN_HOOK_FILES,
    SKILL_FOLDERS,
    Project,
)
from kds.clients.settings.codexconfig import server_in
from kds.clients.settings.entries import PROMPT_EVENTS, SERVER
from kds.clients.settings.projectfile import read_project_text
from kds.clients.settings.settingsfile import SERVER_LISTS, SettingsFile
from kds.clients.table import (
    AGENTS_PAGE,
    CLAUDE_SETTINGS,
    CLIENT_TABLE,
    CODEX_CONFIG,
    COPILOT_HOOKS,
    CURSOR_RULE,
    OPENCODE_PLUGIN,
    Client,
)
from kds.router.prompts.library import PromptLibrary

_VERSION: Final = re.compile(r"\d+(?:\.\d+)+(?:-\w+)?")


_PAIRS: Final = ([CLAUDE_SETTINGS, COPILOT_HOOKS], [CLAUDE_LOCAL, COPILOT_HOOKS])
"""Two hooks on purpose: VS Code does not read Claude Code's by itself (`kds.clients.installation`).
"""


@dataclass(frozen=True, slots=True)
class InstalledHook:
    """A prompt hook of ours: the file it is in, and its command line."""

    name: str
    command: str


def installed_hooks(project: Project) -> list[InstalledHook]:
    """Our prompt hooks in the project, one entry for each. Raises ConfigError."""
    found = []
    for name in project.hook_files():
        settings = SettingsFile.at(project.folder / name)
        for hook in settings.hooks() if settings else ():
            if hook.event in PROMPT_EVENTS:
                found.append(InstalledHook(name, hook.command))
    plugin = read_project_text(project.folder / OPENCODE_PLUGIN)
    command = command_in(plugin) if plugin else None
    return [*found, *([InstalledHook(OPENCODE_PLUGIN, command)] if command else [])]


def hooks(project: Project) -> Iterator[Finding]:
    """Whether each client runs our hook once, and whether its program is there."""
    installed = installed_hooks(project)
    for hook in installed:
        yield from _one_hook(hook)
    for hook in installed:
        if hook.name in _ALONE:
            yield Finding("hook files", "ok", f"one hook, in {hook.name}")
    shared = [hook.name for hook in installed if hook.name not in _ALONE]
    yield from _hooks_together(shared, claude_has_own_hook(project))


_ALONE: Final = (*OWN_HOOK_FILES, OPENCODE_PLUGIN)
"""Each is read by one client; a client may run several of the others."""


def _one_hook(hook: InstalledHook) -> Iterator[Finding]:
    program = _program(hook.command)
    if (fault := fault_of(str(program))) is not None:
        found = f"{hook.name} runs {program}, which {fault}"
        yield Finding("hook files", "problem", found, "kds init")
    elif hook.name == CLAUDE_SETTINGS and program.is_absolute():
        found = f"{hook.name} names a program by its path on this machine"
        yield Finding("hook files", "note", found, "kds init; do not commit the path")


def _hooks_together(names: Sequence[str], own: str | None) -> Iterator[Finding]:
    """Whether a client runs several; ``own`` says where Claude Code has one besides these files."""
    in_claude = [name for name in names if name in (CLAUDE_SETTINGS, CLAUDE_LOCAL)]
    if not own and names in _PAIRS:
        found = f"{names[0]}, and {COPILOT_HOOKS} for VS Code; of a client that runs both"
        yield Finding("hook files", "ok", f"{found} the service answers the first")
    elif len(names) > 1:
        found = f"a client that reads {' and '.join(names)} routes each message twice"
        yield Finding("hook files", "problem", found, "kds init")
    elif own and in_claude:
        found = f"Claude Code runs the hook twice: {own}, and {in_claude[0]} has it too"
        yield Finding("hook files", "problem", found, f"take it out of {in_claude[0]}")
    elif names:
        yield Finding("hook files", "ok", f"one hook, in {names[0]}")


def programs() -> Iterator[Finding]:
    """Whether assistants find our programs by name. Raises WorkspaceError when they are nowhere."""
    if not find_programs().shared:
        said = "kds and kds-hook are only on the PATH of an environment: files name their place"
        yield Finding("programs", "note", said, _install())
        return
    yield Finding("programs", "ok", "kds and kds-hook are on the PATH")
    if (hook := beyond_launchers()) is not None:
        found = f"an assistant started from a menu may not find them: they are in {hook.parent}"
        fix = f"add that folder to the PATH of your desktop, or name {hook} in the hook"
        yield Finding("programs", "note", found, fix)


def servers(project: Project) -> Iterator[Finding]:
    """Whether the MCP entries are ours, their programs there, and no path of ours shared."""
    yield from _codex_server(project)
    for name in MCP_FILES:
        settings = SettingsFile.at(project.folder / name)
        if settings is None:
            continue
        for container in SERVER_LISTS:
            node = settings.root().find((container, SERVER))
            if node is not None:
                finding = _server(name, node.value())
                yield finding
                if finding.mark == "ok" and _command_of(node.value()).is_absolute():
                    yield from _shared_path(project, name)


def _codex_server(project: Project) -> Iterator[Finding]:
    path = project.folder / CODEX_CONFIG
    entry = server_in(read_project_text(path) or "", str(path))
    if entry is not None:
        yield _server(CODEX_CONFIG, entry)


def commands(project: Project) -> Iterator[Finding]:
    """Whether the command that skills, the rule and AGENTS.md have a model run is there."""
    names = [f"{folder}/{SERVER}/SKILL.md" for folder in SKILL_FOLDERS]
    texts = {name: read_project_text(project.folder / name) or "" for name in (*names, CURSOR_RULE)}
    texts[AGENTS_PAGE] = section_in(read_project_text(project.folder / AGENTS_PAGE) or "") or ""
    for name, text in texts.items():
        command = command_named(text)
        fault = fault_of(str(_program(command)), tried=True) if command else None
        if fault is not None:
            ours = name in (CURSOR_RULE, AGENTS_PAGE) or is_one_skill(text)
            fix = "kds init" if ours and fault.startswith("is ") else _install()
            found = f"{name} has the model run {command}, which {fault}"
            yield Finding("commands", "problem", found, fix)


def pages(project: Project) -> Iterator[Finding]:
    """Whether what was written for one client alone is of this version."""
    page = read_project_text(project.folder / AGENTS_PAGE) or ""
    part = section_in(page)
    if part is not None:
        if with_section(page, command_named(part) or SERVER) != page:
            found = f"the part of KDS in {AGENTS_PAGE} is of another version"
            yield Finding("pages", "problem", found, "kds init --client agents")
        else:
            yield Finding("pages", "ok", f"a part of {AGENTS_PAGE}")
    for name in (CURSOR_RULE, OPENCODE_PLUGIN):
        text = read_project_text(project.folder / name)
        if not text:
            continue
        wanted = (cursor_rule(command_named(text) or SERVER) if name == CURSOR_RULE
                  else opencode_plugin(command_in(text) or ""))  # fmt: skip
        state = state_of(text, wanted.text)
        if state == "outdated":
            yield Finding("pages", "problem", f"{name} is of another version", "kds init")
        else:
            changed = "" if state == "current" else ", changed by hand"
            yield Finding("pages", "note" if changed else "ok", f"{name}{changed}")


def skills(project: Project, library: PromptLibrary) -> Iterator[Finding]:
    """Whether the skills are current, and installed in one place."""
    places = []
    for name in SKILL_FOLDERS:
        paths = sorted((project.folder / name).glob("*/SKILL.md"))
        texts = {path: (read_project_text(path) or "").replace("\r\n", "\n") for path in paths}
        ours = {path: text for path, text in texts.items() if digest_in(text) is not None}
        if ours:
            yield from _skills_in(name, ours, library)
        places += [name] if any(path.parent.name == SERVER for path in ours) else []
    if len(places) > 1 and not _for_two(project, places):
        found = f"the same skills are in {' and '.join(places)}: one client reads both"
        yield Finding("skills", "problem", found, "kds init")


def _for_two(project: Project, places: Sequence[str]) -> bool:
    """Whether each place is there for a client that does not read the other."""
    alone = any(has_kds(project, client) for client in ALONE_IN_COMMON)
    return alone and list(places) == [CLAUDE_SKILLS, COMMON_SKILLS]


def clients() -> Iterator[Finding]:
    """The clients on the PATH, with their versions."""
    for traits in CLIENT_TABLE.values():
        label, path = traits.label, shutil.which(traits.program or "")
        if path is None:
            continue
        version = _version_of(path)
        if version is None:
            yield Finding("clients", "note", f"{label}: {path} does not say its version")
        else:
            yield Finding("clients", "ok", f"{label} {version}")


def _skills_in(name: str, ours: Mapping[Path, str], library: PromptLibrary) -> Iterator[Finding]:
    """Whether the skills in a folder are the one of `kds init`, or those of `kds export`."""
    client: Client | None = "claude" if name == CLAUDE_SKILLS else None
    current = {one_skill(command, client=client).text
               for text in ours.values() if (command := command_named(text))}  # fmt: skip
    if not all(is_one_skill(text) for text in ours.values()):
        current |= {file.text for file in skill_files(library, client=client)}
    other = {path: text for path, text in ours.items() if text not in current}
    edited = [
        path.parent.name for path, text in other.items() if digest_in(text) != digest_of(text)
    ]
    if wrong := len(other) - len(edited):
        found = f"{wrong} of {len(ours)} in {name} are not those of this version"
        yield Finding("skills", "problem", found, f"kds init, or kds export skills --to {name}")
    else:
        yield Finding("skills", "ok", f"{len(ours)} in {name}")
    if edited:
        found = f"changed by hand in {name}, and left so: {', '.join(edited)}"
        yield Finding("skills", "note", found)


def _shared_path(project: Project, name: str) -> Iterator[Finding]:
    if not is_tracked(project.folder, name):
        return
    found = f"git tracks {name}, and it names a program by its path on this machine"
    fix = f"{_install()}; else take {name} out of git"
    yield Finding("mcp", "note", found, fix)


def _install() -> str:
    return f"{install_line(tool='pipx install')}, then kds init"


def _command_of(value: object) -> Path:
    command = value.get("command", "") if isinstance(value, dict) else ""
    if isinstance(command, list):  # opencode has the arguments in it, too
        command = next(iter(command), "")
    return Path(str(command))


def _server(name: str, value: object) -> Finding:
    entry = value if isinstance(value, dict) else {}
    command = str(_command_of(value))
    if not calls_server(entry.get("command"), entry.get("args")):
        found = f"the server '{SERVER}' in {name} is not this one"
        return Finding("mcp", "problem", found, f"rename it in {name}, then kds init")
    if (fault := fault_of(command, tried=True)) is not None:
        return Finding("mcp", "problem", f"{name} runs {command}, which {fault}", "kds init --mcp")
    return Finding("mcp", "ok", f"{name} runs {command}")


def _program(command: str) -> Path:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return Path(words[0] if words else "")


def _version_of(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S,
            check=False, stdin=subprocess.DEVNULL, env={**os.environ, "DISABLE_AUTOUPDATER": "1"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout)
    return match[0] if match and done.returncode == 0 else None
