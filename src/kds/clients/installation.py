"""What `kds init` is to change in a project: planned as a whole before anything is written."""

import shlex
from collections.abc import Iterator
from typing import Final

from kds.brain.discovery import BRAIN
from kds.brain.errors import ConfigError, Problem
from kds.brain.installation import install_line
from kds.clients.generated.skills import is_one_skill, one_skill, skill_files
from kds.clients.generated.standing_rules import cursor_rule, with_section
from kds.clients.generated.writing_files import FileChange, plan_export
from kds.clients.ours import has_kds
from kds.clients.planning import PlannedFile, Planning, Wish
from kds.clients.programs import Programs
from kds.clients.project import (
    ALONE_IN_COMMON,
    CLAUDE_LOCAL,
    CLAUDE_SKILLS,
    COMMON_SKILLS,
    COPILOT_MCP,
    IGNORE_FILE,
    OPENCODE_CONFIGS,
    SKILL_FOLDERS,
    Project,
)
from kds.clients.record import InitRecord
from kds.clients.settings.codexconfig import with_server
from kds.clients.settings.entries import mcp_server
from kds.clients.settings.hookplan import plan_hooks
from kds.clients.settings.ignorefile import with_lines
from kds.clients.settings.projectfile import read_project_text
from kds.clients.table import (
    AGENTS_PAGE,
    CLIENT_TABLE,
    CODEX_CONFIG,
    CURSOR_RULE,
    OPENCODE_CONFIG,
    SHARED_MCP,
    Client,
    ServerPlace,
)
from kds.router.prompts.library import PromptLibrary


def plan_install(
    project: Project, wish: Wish, programs: Programs, library: PromptLibrary, record: InitRecord
) -> Planning:
    """Say what is to change, without changing anything.

    Raises ConfigError with every file that cannot be worked with, DispatchError when a prompt
    cannot be rendered.
    """
    problems: list[Problem] = []
    steps = (
        plan_hooks,
        _plan_servers if wish.mcp else None,
        _plan_skills,
        _plan_pages,
        _plan_ignored,
        _note_paths,
    )
    planning = Planning(project, wish, programs, library, record)
    for step in steps:
        try:
            if step is not None:
                step(planning)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return planning


def _plan_servers(planning: Planning) -> None:
    for client in planning.wish.clients:
        place = CLIENT_TABLE[client].server
        if place is not None:
            _plan_server(planning, ServerPlace(_server_file(planning, client, place.file),
                                               place.container, place.style))  # fmt: skip
    shared = any(file.name == SHARED_MCP for file in planning.files)
    if shared and "copilot" in planning.wish.clients and _is_there(planning, COPILOT_MCP):
        planning.notes.append(
            f"the Copilot CLI does not read {COPILOT_MCP} where there is a {SHARED_MCP}: "
            "move your servers there"
        )


def _server_file(planning: Planning, client: Client, usual: str) -> str:
    """The file for the server: another than usual where the user keeps theirs in that."""
    if client == "opencode":
        there = (name for name in OPENCODE_CONFIGS if _is_there(planning, name))
        return next(there, OPENCODE_CONFIG)
    alone = client == "copilot" and "claude" not in planning.wish.clients
    if alone and not _is_there(planning, SHARED_MCP) and _is_there(planning, COPILOT_MCP):
        return COPILOT_MCP
    return usual


def _is_there(planning: Planning, name: str) -> bool:
    return planning.project.path(name).exists()


def _plan_server(planning: Planning, place: ServerPlace) -> None:
    if place.file == CODEX_CONFIG:
        path = planning.project.path(CODEX_CONFIG)
        before = planning.page(CODEX_CONFIG)
        after = with_server(before or "", planning.programs.kds, str(path))
        planning.put(PlannedFile(CODEX_CONFIG, "toml", before, after))
        return
    settings = planning.settings(place.file)
    settings.set_server(place.container, mcp_server(planning.programs.kds, style=place.style))
    planning.add(place.file, settings)


def _plan_skills(planning: Planning) -> None:
    """Have the one skill where it is wanted or is already, and the fourteen of old no more."""
    project = planning.project
    targets = _skill_targets(planning)
    dropped = 0
    for folder in SKILL_FOLDERS:
        client: Client | None = "claude" if folder == CLAUDE_SKILLS else None
        skill = one_skill(shlex.quote(planning.programs.kds), client=client)
        changes = plan_export("skills", [skill] if folder in targets else [], project.path(folder))
        exported = _exported(planning, client) if any(one.new is None for one in changes) else ()
        for change in changes:
            name = project.name(change.path)
            if change.old in exported and change.new is None and name not in planning.record.files:
                continue  # `kds export` wrote it: somebody asked for it
            dropped += change.action == "remove" and not is_one_skill(change.old or "")
            _plan_skill(planning, name, change)
    if dropped:
        planning.notes.append(f"{dropped} {_DROPPED}")


_DROPPED: Final = (
    "skills of an earlier kds init are taken away: assistants list each in every request. "
    "--skills adds one; kds export skills writes them all"
)


def _plan_skill(planning: Planning, name: str, change: FileChange) -> None:
    kept = change.action == "keep"
    if kept and change.state != "current":
        planning.note_kept(name, change.state)
    after = change.old if kept else change.new
    planning.put(PlannedFile(name, "generated", change.old, after))


def _exported(planning: Planning, client: Client | None) -> tuple[str, ...]:
    """The skills as `kds export` writes them today."""
    return tuple(file.text for file in skill_files(planning.library, client=client))


def _skill_targets(planning: Planning) -> set[str]:
    """The folders for the skill: as few as the clients can be served from."""
    project = planning.project
    places = [folder for folder in SKILL_FOLDERS if _has_skill(project, folder)]
    if not (planning.wish.skills or places):
        return set()
    for_claude = "claude" in planning.wish.clients or CLAUDE_SKILLS in places
    targets = {CLAUDE_SKILLS} if for_claude else {COMMON_SKILLS}
    return targets | ({COMMON_SKILLS} if _is_for_common(planning) else set())


def _has_skill(project: Project, folder: str) -> bool:
    text = read_project_text(project.path(f"{folder}/kds/SKILL.md"))
    return text is not None and is_one_skill(text)


def _is_for_common(planning: Planning) -> bool:
    """Whether a client is wanted, or was by an earlier run, that reads the common folder alone."""
    return any(client in planning.wish.clients or _had_kds(planning.project, client)
               for client in ALONE_IN_COMMON)  # fmt: skip


def _had_kds(project: Project, client: Client) -> bool:
    """Whether a client that nobody asked for now has KDS; as it looks, if its file is broken."""
    try:
        return has_kds(project, client)
    except ConfigError:
        return (project.folder / COMMON_SKILLS / "kds").exists()


def _plan_pages(planning: Planning) -> None:
    """What is always read: a rule for Cursor, and a part of AGENTS.md where that is asked for."""
    kds = shlex.quote(planning.programs.kds)
    if "cursor" in planning.wish.clients:
        planning.put_generated(CURSOR_RULE, cursor_rule(kds).text)
    if "agents" in planning.wish.clients:
        before = planning.page(AGENTS_PAGE)
        planning.put(PlannedFile(AGENTS_PAGE, "section", before, with_section(before or "", kds)))


def _plan_ignored(planning: Planning) -> None:
    project = planning.project
    before = planning.page(IGNORE_FILE)
    after = before or ""
    local = any(file.name == CLAUDE_LOCAL and file.after for file in planning.files)
    for lines, covered in ignored_lines(project, local=local):
        after = with_lines(after, lines, covered=covered)
    planning.put(PlannedFile(IGNORE_FILE, "ignore", before, after or None))


def _note_paths(planning: Planning) -> None:
    """Say that files name a program by its place, where others will read them."""
    if planning.programs.shared:
        return
    names = (planning.programs.kds, planning.programs.hook)
    texts = (file.after or "" for file in planning.files if file.name != CLAUDE_LOCAL)
    if any(name in text for text in texts for name in names):
        planning.notes.append(_NOT_SHARED)


_NOT_SHARED: Final = (
    "kds is not on the PATH outside of an environment, so the files name it by its path on this "
    f"machine: do not commit them, or install it first with `{install_line(tool='pipx install')}`"
)


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
