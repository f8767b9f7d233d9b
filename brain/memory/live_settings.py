"""The settings as they are at this moment: a switch works in a program that runs."""

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from kds.brain.settings import Settings, SettingsError, load_settings
from kds.brain.settings_variables import variables_set
from kds.brain.workspace import Workspace, own_settings_path

FileStamp = tuple[int, int, int] | None
Stamp = tuple[tuple[FileStamp, ...], tuple[tuple[str, str], ...]]


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
