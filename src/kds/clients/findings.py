"""What a check of `kds doctor` finds, and what to do about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kds.brain.errors import ConfigError, KdsError

Mark = Literal["ok", "note", "problem"]
"""``note``: it works but could be better, or is not in use."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. ``fix`` says what to do, if anything."""

    check: str
    mark: Mark
    found: str
    fix: str | None = None


Checks = Callable[[], Iterable[Finding]]


def examine(check: str, look: Checks) -> Iterator[Finding]:
    """The findings of one check; an error is one of them."""
    try:
        yield from look()
    except ConfigError as error:
        for problem in error.problems:
            yield Finding(check, "problem", f"{problem.where}: {problem.message}", problem.hint)
    except KdsError as error:
        where = f"{error.where}: " if error.where else ""
        yield Finding(check, "problem", f"{where}{error.message}", error.hint)
    except OSError as error:
        found = f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")
        yield Finding(check, "problem", found, "check the file and its rights")


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether none of the findings is a problem."""
    return all(finding.mark != "problem" for finding in findings)
