"""Every error KDS raises on purpose: something a user can be told about and can fix."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class KdsError(Exception):
    """Base of the tree: says what is wrong, where, and how to fix it.

    >>> print(KdsError("no such intent 'PLAM'", where="rules/x.yaml:3", hint="did you mean PLAN?"))
    rules/x.yaml:3: no such intent 'PLAM'
      fix: did you mean PLAN?
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  fix: {self.hint}" if self.hint else head


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file: ``where`` is ``path:line``, ``hint`` the fix."""

    where: str
    message: str
    hint: str

    @property
    def path(self) -> Path:
        """The file, or the folder where it is one as a whole."""
        return place_of(self.where)

    def __str__(self) -> str:
        return f"{self.where}: {self.message}\n  fix: {self.hint}"


def place_of(where: str) -> Path:
    """The file or folder of a ``path:line`` or path."""
    path, _, line = where.rpartition(":")
    return Path(path if line.isdigit() else where)


def line_of(where: str) -> int:
    """The line of a ``path:line``; 1 where none is named.

    >>> line_of("rules/mine.yaml:3"), line_of("rules")
    (3, 1)
    """
    line = where.rpartition(":")[2]
    return int(line) if line.isdigit() else 1


class ConfigError(KdsError):
    """A file the user may edit is wrong. Carries every problem found, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if not self.problems:
            raise ValueError("a ConfigError needs at least one problem")
        first = self.problems[0]
        super().__init__(first.message, where=first.where, hint=first.hint)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class RuleFileError(ConfigError):
    """A rule file does not load."""


class PromptFileError(ConfigError):
    """A prompt file does not load."""


class ExampleFileError(ConfigError):
    """A file of dialogues or other examples does not load."""


class MessageError(KdsError):
    """What was given cannot be used: no text, too long, empty once cleaned, or of no such thing."""


class WorkspaceError(KdsError):
    """The workspace folder is missing, unusable or read-only."""


class ExposedError(WorkspaceError):
    """Git would commit what is private in the workspace, so nothing is kept there."""


class StoreError(KdsError):
    """Conversation state could not be read or written."""


class UnknownNameError(StoreError):
    """A store holds nothing of that name, or several things: another name would do."""


class OutageError(StoreError):
    """The server that keeps the state cannot be reached, or not in time: later it may."""


class RemovedError(StoreError):
    """The person whose state it was has been removed from the server."""


class DispatchError(KdsError):
    """An agent or its prompt could not be picked or rendered."""
