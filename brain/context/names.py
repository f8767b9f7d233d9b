"""What the context calls things: terminals, conversations and sessions.

One file holds the last ten messages of a workspace, whichever terminal they were typed in. Each
line notes its origin: ``terminal:PID-START`` for a command typed in a terminal (a POSIX session,
named by the process that leads it), ``prompt-file:PID-START`` for a `#file:` invocation there,
``window:NAME`` for a window of an assistant. A message of one terminal never refers to one of
another terminal that is still open.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from kds.brain.errors import MessageError
from kds.brain.secrets.redaction import storable
from kds.brain.turn import ContextEntry
from kds.brain.workspace import Workspace

Kind = Literal["terminal", "prompt-file"]

ORIGIN: Final = re.compile(r"(terminal|prompt-file|window):[A-Za-z0-9._-]{1,64}")
"""What an origin looks like; a line with another one counts as a line without."""

NAME_LIMIT: Final = 128
"""Longest name of a conversation in characters; clients use UUIDs of 36."""

SLUG_LIMIT: Final = 40
"""Longest slug in characters: a session id must fit a file name and a table column."""

NAMELESS: Final = "session"
"""The slug of a feature that has no Latin letter or digit."""

_PROCESS: Final = re.compile(r"(\d{1,10})-(\d{1,20})")
_WORD: Final = re.compile("[a-z0-9]+")
_APOSTROPHES: Final = re.compile("['’`]")

# Letters that Unicode does not take apart into a base letter and a mark.
_FOLDS: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)


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

    def reaches(found: str | None) -> bool:
        if found is not None and found.startswith("window:") and found != origin:
            return not speaks
        return not is_other_terminal(found, origin)

    return tuple(one for one in entries if reaches(one.origin))


def is_same_terminal(one: str | None, other: str | None) -> bool:
    """Whether both come from one terminal: what it invokes a prompt file with is its own, too."""
    if one is None or other is None:
        return False
    return one.partition(":")[2] == other.partition(":")[2]


def is_other_terminal(found: str | None, own: str | None) -> bool:
    """Whether ``found`` is a terminal that is open, and another one than ``own``."""
    if found is None or own is None or is_same_terminal(found, own):
        return False
    process = _PROCESS.fullmatch(found.partition(":")[2])
    return process is not None and _started(int(process[1])) == int(process[2])


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc_pid_stat(5), field 22).

    It tells a process from a later one of the same number. 0 where the system does not say when.
    """
    try:
        if not Path("/proc/self/stat").exists():
            os.kill(pid, 0)
            return 0
        # The command's name, in parentheses, may hold blanks and parentheses itself.
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except PermissionError:  # it is another user's
        return 0
    except (OSError, ValueError, IndexError):
        return None


def conversation_path(workspace: Workspace, conversation: str) -> Path:
    """Where the context of a conversation is kept, whatever its name is made of.

    Raises MessageError when the name is empty or longer than NAME_LIMIT.
    """
    if not conversation.strip() or len(conversation) > NAME_LIMIT:
        raise MessageError(
            f"a conversation's name has 1 to {NAME_LIMIT} characters, not {len(conversation)}",
            hint="use the session id of the client",
        )
    # Part of the name for people; the hash tells them apart.
    spelled = re.sub(r"[^a-z0-9]+", "-", conversation.lower())[:40].strip("-")
    digest = hashlib.sha256(conversation.encode(errors="surrogatepass")).hexdigest()[:16]
    return workspace.conversations_dir / f"{spelled}-{digest}.jsonl"


def slug(feature: str) -> str:
    """Name a feature in lower case ASCII words joined by '-', without articles.

    At most SLUG_LIMIT characters, cut between words where there is a cut. Secrets are
    redacted first: a session id is stored and shown.

    >>> slug("the FAB button"), slug("Crème brûlée"), slug("ダークモード")
    ('fab-button', 'creme-brulee', 'session')
    """
    folded = unicodedata.normalize("NFKD", storable(feature).casefold().translate(_FOLDS))
    plain = "".join(char for char in folded if not unicodedata.combining(char))
    name = ""
    for word in _WORD.findall(_APOSTROPHES.sub("", plain)):
        longer = f"{name}-{word}" if name else word[:SLUG_LIMIT]
        if len(longer) > SLUG_LIMIT:
            break
        name = name if word in ("a", "an", "the") else longer
    return name or NAMELESS


def session_id(feature: str, at: datetime) -> str:
    """Name the session that starts with ``feature`` at ``at`` (aware): slug and UTC date.

    Raises ValueError when ``at`` has no time zone.

    >>> session_id("FAB button", datetime(2025, 11, 3, 9, 30, tzinfo=UTC))
    'fab-button-20251103'
    """
    if at.tzinfo is None:
        raise ValueError("a session starts at an aware datetime")
    day = at.astimezone(UTC)
    date = f"{day.year:04d}{day.month:02d}{day.day:02d}"
    name = f"{slug(feature)}-{date}"
    # "SK:000000" makes what looks like a key: it would be redacted wherever it is stored
    return name if storable(name) == name else f"{NAMELESS}-{date}"
