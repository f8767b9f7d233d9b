"""Where what was learned is kept: in the files of a workspace, or as texts of a tenant."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from kds.brain.kept_text import KeptText, PrivateText, kept_text
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import FILE_NAME, VERDICT_NAME, LearnedFile
from kds.brain.private_file import make_private_folder
from kds.brain.receipt import read_own, replace_own
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace

VERDICT_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class LearningPlace:
    """The events, what was accepted, and what the guard found, of one workspace."""

    workspace: Workspace
    environ: Mapping[str, str]
    file: LearnedFile
    events: EventLog

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Find it. Raises SettingsError when a server may be set wrong."""

        def text(name: str) -> KeptText:
            return kept_text(workspace, name, environ=environ)

        return cls(workspace, environ, LearnedFile(text(FILE_NAME)), EventLog(text(EVENTS)))

    @property
    def in_files(self) -> bool:
        """Whether the workspace keeps it itself."""
        return isinstance(self.file.text, PrivateText)

    @property
    def enabled(self) -> bool:
        """Whether the user leaves learning on. Raises SettingsError."""
        return load_settings(self.workspace, environ=self.environ).learning.enabled

    def verdict(self) -> bytes | None:
        """What the guard found last time. Raises StoreError."""
        if self.in_files:  # a project may have brought one along
            return read_own(self.workspace.cache_dir / VERDICT_NAME)
        return self._verdict_text().read()

    def keep_verdict(self, content: bytes) -> None:
        """Keep what the guard found. Raises StoreError."""
        if self.in_files:
            make_private_folder(self.workspace.cache_dir)
            replace_own(self.workspace.cache_dir / VERDICT_NAME, content)
            return
        with self._verdict_text().borrowed(timeout_s=VERDICT_TIMEOUT_S) as text:
            text.replace(content)

    def _verdict_text(self) -> KeptText:
        return kept_text(self.workspace, VERDICT_NAME, environ=self.environ)
