"""What `kds doctor` finds: one finding for each check, with what to do about it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kds.brain.errors import ConfigError, KdsError
from kds.brain.installation import kds_version, mend_line, other_kds

Mark = Literal["ok", "note", "problem"]
"""``note``: works, and could be better, or is not in use."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. ``fix`` is what to do, None when nothing is."""

    check: str
    mark: Mark
    found: str
    fix: str | None = None


Checks = Callable[[], Iterable[Finding]]


def examine(check: str, look: Checks) -> Iterator[Finding]:
    """The findings of one check; what it cannot read becomes one of them."""
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


def this_kds() -> Iterator[Finding]:
    """Which Python and which KDS this is."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("kds", "ok", f"kds {kds_version()}, Python {python} at {sys.executable}")
    other = other_kds()
    if other:
        yield Finding("kds", "problem", other, mend_line())


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether there is no problem among the findings."""
    return all(finding.mark != "problem" for finding in findings)
