"""What a confirmed AMNESIA does: `kds.forget`."""

from collections.abc import Iterable
from dataclasses import dataclass

from kds.brain.clock import Clock, utc_now
from kds.brain.workspace import Workspace
from kds.session.session_memory import SessionMemory


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Forgets what is remembered of the application, after a backup.

    Its methods raise StoreError when files cannot be used: then everything is as before.
    """

    workspace: Workspace
    memory: SessionMemory
    clock: Clock = utc_now

    def preview(self) -> str:
        """What would be forgotten and what would stay, for the question."""
        from kds.forget import survey  # few sessions forget

        found = survey(self.workspace)
        return "\n".join(
            (
                f"Forgotten in {self.workspace.root}, after a backup:",
                *_listed(found.items or ["nothing is remembered"]),
                "It leaves alone:",
                *_listed(found.stays),
            )
        )

    def forget(self) -> str:
        """Do it, and say what was done."""
        from kds.forget import forget

        self.memory.begin_anew()
        report = forget(self.workspace, clock=self.clock)
        if report.backup is None:
            return "There was nothing to forget."
        return "\n".join(
            (
                "Forgotten:",
                *_listed(report.forgotten.items),
                f"Backup: {report.backup}",
                "`kds forget --restore` brings it back.",
            )
        )


def _listed(lines: Iterable[object]) -> list[str]:
    return [f"- {line}" for line in lines]
