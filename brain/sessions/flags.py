"""The switches of the memory, as they are set at this moment.

They are read again when the settings file or the environment has changed, so that a switch
works in a program that runs.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Lock

from kds.brain.passages.recalled import RecallSettings, recall_settings
from kds.brain.sessions.window import Budget
from kds.brain.settings import Settings, SettingsError, load_settings
from kds.brain.settings_variables import variables_set
from kds.brain.summaries.extractive import Limit
from kds.brain.workspace import Workspace, own_settings_path

FileStamp = tuple[int, int, int] | None
Stamp = tuple[tuple[FileStamp, ...], tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class MemoryFlags:
    """What is on, and how much of it. Every switch off leaves the simpler behaviour."""

    enabled: bool
    """Off: nothing is stored, nothing recalled; a window is the question alone."""
    query_rewriting: bool
    """Off: what is recalled is what was typed."""
    session_memory: bool
    """Off: no terms are kept for references."""
    history_summarization: bool
    """Off: what has left the window is gone from it."""
    summary_frequency: int
    """Replies to a periodic summary; 0: none."""
    turns: int
    ttl: timedelta
    budget: Budget
    summary: Limit
    context_limit: int
    """Tokens up to which a conversation is sent whole; 0: the short window."""
    token_budget: int
    recall: RecallSettings

    @classmethod
    def of(cls, settings: Settings, *, default: bool = True) -> "MemoryFlags":
        """Read them off the settings; ``default`` counts where memory is neither on nor off."""
        memory = settings.memory
        return cls(
            enabled=default if memory.enabled is None else memory.enabled,
            query_rewriting=memory.enable_query_rewriting,
            session_memory=memory.enable_session_memory,
            history_summarization=memory.enable_history_summarization,
            summary_frequency=memory.summary_frequency,
            turns=memory.history_max_turns,
            ttl=timedelta(hours=memory.session_memory_ttl_hours),
            budget=Budget(memory.summary_tokens, memory.verbatim_tokens, memory.query_tokens),
            summary=Limit(memory.summary_words, memory.summary_tokens),
            context_limit=memory.context_limit_tokens,
            token_budget=settings.recall.token_budget,
            recall=recall_settings(settings.recall),
        )


class LiveSettings:
    """The settings of a workspace, read again when the file or the environment has changed."""

    def __init__(self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> None:
        self._workspace = workspace
        self._environ = environ
        self._lock = Lock()
        self._stamp: Stamp | None = None
        self._settings: Settings | None = None
        self.problem: SettingsError | None = None
        """What is wrong with settings that were changed since; those before still hold."""

    def current(self) -> Settings:
        """Return the settings as they are now.

        Raises SettingsError when they are wrong the first time; later the last good ones hold,
        and `problem` says why.
        """
        with self._lock:
            stamp = self._look()
            if self._settings is None or stamp != self._stamp:
                self._settings = self._read(self._settings)
                self._stamp = stamp
            return self._settings

    def _read(self, last: Settings | None) -> Settings:
        try:
            settings = load_settings(self._workspace, environ=self._environ)
        except SettingsError as error:
            if last is None:
                raise
            self.problem = error
            return last
        self.problem = None
        return settings

    def _look(self) -> Stamp:
        paths = (self._workspace.settings_path, own_settings_path(self._environ))
        return tuple(map(_stamp, paths)), tuple(variables_set(self._environ).items())


def _stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
