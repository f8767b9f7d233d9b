"""Checks of a workspace: its folder and rights, what is stored, and what the user wrote."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kds.brain.context.journal import ContextJournal
from kds.brain.git import CONVERSATION, DOCUMENT_FILES, exposure, ignore_conversations
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.clients.findings import Finding
from kds.router.english import load_english
from kds.router.intents.model_cache import needs_fit
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import load_rules

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
OTHERS: Final = 0o077
"""The rights of group and others."""

_USERS_OWN: Final = ("rules", "english", "settings.yaml", "README.md", ".gitignore")
"""Written by hand and committed; they hold nothing of a conversation."""

_SHOWN: Final = 3


def place(workspace: Workspace) -> Iterator[Finding]:
    """Where the workspace is, and whether it can be written to. Raises WorkspaceError."""
    workspace.check()
    if not workspace.brain.is_dir():
        found = f"{workspace.root} has no {workspace.brain.name} yet; the first message makes it"
        yield Finding("workspace", "note", found, "kds init")
    else:
        yield Finding("workspace", "ok", str(workspace.brain))


def rights(workspace: Workspace) -> Iterator[Finding]:
    """Whether anybody else may read what is stored."""
    if sys.platform == "win32" or not workspace.brain.is_dir():
        return
    open_ones = list(too_open(workspace))
    if not open_ones:
        yield Finding("privacy", "ok", "nobody else may read what is stored")
        return
    shown = ", ".join(f"{path.name} ({stat.S_IMODE(path.stat().st_mode):04o})"
                      for path in open_ones[:_SHOWN])  # fmt: skip
    more = f" and {len(open_ones) - _SHOWN} more" if len(open_ones) > _SHOWN else ""
    yield Finding("privacy", "problem", f"others may read {shown}{more}", "kds doctor --fix")


def committed(workspace: Workspace) -> Iterator[Finding]:
    """Whether git would commit what is stored; if so, nothing is stored."""
    if not workspace.brain.is_dir():
        return
    found = exposure(workspace, (*CONVERSATION, *DOCUMENT_FILES))
    if found:
        error = found.as_error(workspace.brain)
        yield Finding("git", "problem", f"{error.message}; nothing is kept there", error.hint or "")
    elif found.unknown:
        yield Finding("git", "note", f"git does not say what it would commit: {found.unknown}")
    else:
        yield Finding("git", "ok", "git leaves what is stored out of every commit")


def leave_out(workspace: Workspace) -> bool:
    """Have git ignore what is stored; return whether a rule had to be added.

    What git tracks already stays tracked until the user removes it from git.
    """
    if (
        not workspace.brain.is_dir()
        or not exposure(workspace, (*CONVERSATION, *DOCUMENT_FILES)).let_through
    ):
        return False
    ignore_conversations(workspace)
    return True


def too_open(workspace: Workspace) -> Iterator[Path]:
    """Folders and files of the workspace that others have rights to, except behind a link."""
    if workspace.brain.is_symlink():
        return
    if workspace.brain.stat().st_mode & OTHERS:
        yield workspace.brain
    for path in sorted(workspace.brain.rglob("*")):
        if path.relative_to(workspace.brain).parts[0] in _USERS_OWN or path.is_symlink():
            continue
        if path.stat().st_mode & OTHERS:
            yield path


def ours_too_open(workspace: Workspace) -> list[Path]:
    """Those whose rights we may change."""
    if sys.platform == "win32" or not workspace.brain.is_dir():
        return []
    return [path for path in too_open(workspace) if path.stat().st_uid == os.geteuid()]


def make_private(workspace: Workspace) -> int:
    """Take the rights of others away, and return from how many files and folders.

    Files of another owner are left alone.
    """
    paths = ours_too_open(workspace)
    for path in paths:
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)
    return len(paths)


def context(workspace: Workspace) -> Iterator[Finding]:
    """Whether the conversation context can be read."""
    if not workspace.context_path.exists():
        yield Finding("context", "ok", "nothing is remembered yet")
        return
    loaded = ContextJournal(workspace.context_path).load()
    for warning in loaded.warnings:
        yield Finding("context", "note", warning)
    count = len(loaded.entries)
    yield Finding("context", "ok", f"{count} {'message' if count == 1 else 'messages'} remembered")


def settings(workspace: Workspace) -> Iterator[Finding]:
    """Whether the settings load."""
    service = load_settings(workspace).service
    switched = "on" if service.enabled else "off"
    yield Finding("settings", "ok", f"service {switched}, idle after {service.idle_minutes:g} min")


def rules(workspace: Workspace) -> Iterator[Finding]:
    """Whether the rules and their word lists load."""
    load_rules(workspace.rules_dir)
    load_english(workspace.english_dir)
    own = len(list(workspace.rules_dir.glob("*.yaml"))) if workspace.rules_dir.is_dir() else 0
    yield Finding("rules", "ok", f"the rules load, {own} files of this workspace among them")


def prompts(workspace: Workspace, library: PromptLibrary) -> Iterator[Finding]:
    """Whether the prompts load, and their intent model is fitted."""
    agents = len(library.agents())
    yield Finding("prompts", "ok", f"{len(library.prompts())} prompts load, {agents} are agents")
    if library.passed_over:
        count = len(library.passed_over)
        found = f"{count} {'file' if count == 1 else 'files'} in {workspace.prompts_dir} without"
        yield Finding("prompts", "note", f"{found} front matter: not of KDS, and passed over")
    if needs_fit(library.prompts(), workspace.cache_dir):
        found = "the intent model is not fitted yet: the first message takes some seconds more"
        yield Finding("model", "note", found, "kds service start")
    else:
        yield Finding("model", "ok", "the intent model is fitted")
