"""One configuration of a workspace: its settings and what was learned there, loaded once.

A `Config` is frozen and handed down. `LiveConfig` hands out the one that holds now: it looks at
the files and the environment, which takes microseconds, and loads again only what has changed.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock

from kds.brain.environment import variables_set
from kds.brain.errors import OutageError, StoreError
from kds.brain.learning.examples import FILE_NAME, Learned, LearnedFile, LearnedFileError
from kds.brain.settings import Settings, SettingsError, load_settings
from kds.brain.workspace import Environ, SharedDatabase, Workspace, locked_text, own_settings_path

FileStamp = tuple[int, int, int] | None


@dataclass(frozen=True)
class Config:
    """A workspace, the environment, and what is set in both."""

    workspace: Workspace
    settings: Settings
    environ: Environ
    learned_as_of: object = None
    """What tells one state of the learned examples from the next."""

    @property
    def database(self) -> SharedDatabase | None:
        """The server that keeps conversations in place of the workspace's files, if any."""
        return SharedDatabase.of(self.settings, self.workspace)

    @cached_property
    def learned(self) -> tuple[Learned, ...]:
        """What was taught; nothing while learning is off.

        Raises LearnedFileError when the file is wrong, StoreError when it cannot be read.
        """
        text = locked_text(self.workspace, FILE_NAME, environ=self.environ)
        if not text.exists or not self.settings.learning.enabled:
            return ()
        return LearnedFile(text).entries()

    @property
    def learned_problem(self) -> str | None:
        """Why nothing that was learned is used, in one line. Raises OutageError."""
        try:
            _ = self.learned
        except OutageError:
            raise
        except (LearnedFileError, StoreError) as error:
            return f"nothing learned is used: {error.where}: {error.message}"
        return None


class LiveConfig:
    """The configuration of a workspace as it is now. For any threads."""

    def __init__(self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> None:
        self.workspace = workspace
        self.environ = environ
        self._lock = Lock()
        self._stamp: object = None
        self._config: Config | None = None
        self.problem: SettingsError | None = None
        """What is wrong with settings that have changed since; the last good ones still hold."""

    @property
    def settings(self) -> Settings:
        """The settings as they are now. Raises as `current` does."""
        return self.current().settings

    def current(self, *, marks: object = None) -> Config:
        """Return the configuration as it is now: the same object while nothing has changed.

        ``marks`` tell states of a server apart. Raises SettingsError when the settings are wrong
        the first time; later the last good ones hold, and `problem` says why.
        """
        with self._lock:
            files = (self.workspace.settings_path, own_settings_path(self.environ))
            stamp = (*map(_stamp, files), tuple(variables_set(self.environ).items()))
            if self._config is None or stamp != self._stamp:
                self._config, self._stamp = self._loaded(self._config), stamp
            as_of = self._learned_as_of(self._config, marks)
            if as_of != self._config.learned_as_of:
                self._config = replace(self._config, learned_as_of=as_of)
            return self._config

    def _learned_as_of(self, config: Config, marks: object) -> object:
        """The state of what was learned: of the file, or of a server, which ``marks`` tell."""
        if config.database is None:
            return _stamp(self.workspace.brain / FILE_NAME)
        return config.learned_as_of if marks is None else marks

    def _loaded(self, last: Config | None) -> Config:
        try:
            settings = load_settings(self.workspace, environ=self.environ)
        except SettingsError as error:
            if last is None:
                raise
            self.problem = error
            return last
        self.problem = None
        return Config(self.workspace, settings, self.environ, last and last.learned_as_of)


def _stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
