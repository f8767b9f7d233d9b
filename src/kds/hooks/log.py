"""Reading ``kds-brain/hook.log``: what `kds-hook` ran into, for `kds doctor`."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kds.brain.files import read_private
from kds.hooks.trouble import LOG_NAME


@dataclass(frozen=True, slots=True)
class HookTrouble:
    """One line of the log: when the hook had to let a prompt pass, and why."""

    at: datetime | None
    """None when the line is damaged."""
    reason: str


def read_hook_log(path: Path) -> tuple[HookTrouble, ...]:
    """Return the troubles in the log at ``path``, oldest first; none when there is no log.

    ``path`` may also be the ``kds-brain`` folder. Raises StoreError when it cannot be read.
    """
    content = read_private(path / LOG_NAME if path.is_dir() else path) or b""
    lines = content.decode("utf-8", "replace").splitlines()
    return tuple(_trouble(line) for line in lines if line.strip())


def _trouble(line: str) -> HookTrouble:
    stamp, _, reason = line.partition(" ")
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        return HookTrouble(None, line)
    return HookTrouble(at, reason) if at.tzinfo else HookTrouble(None, line)
