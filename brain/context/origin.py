"""Where a message of the context came from, and which of the others it may refer to.

One file holds the last ten messages of a workspace, whichever terminal they were typed in. Each
line notes its origin: ``terminal:PID-START`` for a command typed in a terminal (a POSIX session,
named by the process that leads it), ``prompt-file:PID-START`` for a `#file:` invocation there,
``window:NAME`` for a window of an assistant. A message of one terminal never refers to one of
another terminal that is still open.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from kds.brain.turn import ContextEntry

Kind = Literal["terminal", "prompt-file"]

ORIGIN: Final = re.compile(r"(terminal|prompt-file|window):[A-Za-z0-9._-]{1,64}")
"""What an origin looks like; a line with another one counts as a line without."""

_PROCESS: Final = re.compile(r"(\d{1,10})-(\d{1,20})")


def terminal_origin(kind: Kind = "terminal") -> str | None:
    """Return the origin of what is typed in this process's terminal.

    None where there are no POSIX sessions, or their leader cannot be looked up (containers,
    Windows): such a message refers to all others, as one logged by hand does.
    """
    if not hasattr(os, "getsid"):
        return None
    leader = os.getsid(0)
    started = _started(leader)
    return None if started is None else f"{kind}:{leader}-{started}"


def within_reach(entries: Sequence[ContextEntry], origin: str | None) -> tuple[ContextEntry, ...]:
    """Return the ``entries`` that a message from ``origin`` may refer to, in their order.

    Those of its own terminal, those without an origin, those of terminals that were closed, and,
    as long as its own terminal has said nothing, those of assistants' windows. A message without
    an origin may refer to all.
    """
    if origin is None:
        return tuple(entries)
    speaks = any(is_same_terminal(one.origin, origin) for one in entries)
    return tuple(one for one in entries if _reaches(one.origin, origin, speaks=speaks))


def is_same_terminal(one: str | None, other: str | None) -> bool:
    """Whether both come from one terminal: what it invokes a prompt file with is its own, too."""
    if one is None or other is None:
        return False
    return one.partition(":")[2] == other.partition(":")[2]


def is_other_terminal(found: str | None, own: str | None) -> bool:
    """Whether ``found`` is a terminal that is open, and another one than ``own``."""
    return None not in (found, own) and not is_same_terminal(found, own) and _is_open(found)


def _reaches(found: str | None, origin: str, *, speaks: bool) -> bool:
    if found is None or is_same_terminal(found, origin):
        return True
    if found.startswith("window:"):
        return not speaks
    return not _is_open(found)


def _is_open(origin: str | None) -> bool:
    process = _PROCESS.fullmatch((origin or "").partition(":")[2])
    return process is not None and _started(int(process[1])) == int(process[2])


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc_pid_stat(5), field 22).

    It tells a process from a later one of the same number. 0 where the system does not say when.
    """
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():
        return 0 if _runs(pid) else None
    try:
        fields = (proc / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
        # The command's name, in parentheses, may hold blanks and parentheses itself.
        return int(fields.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
