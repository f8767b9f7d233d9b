"""What a confirmed AMNESIA does: `kds.amnesia`, with nothing of the session in its way."""

from collections.abc import Iterator
from dataclasses import dataclass

from kds.brain.clock import Clock, utc_now
from kds.brain.workspace import Workspace
from kds.session.session_memory import SessionMemory


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Forgets what is remembered of the application, after a backup of it.

    Its methods raise StoreError when files cannot be used: then everything is as it was.
    """

    workspace: Workspace
    memory: SessionMemory
    clock: Clock = utc_now

    def preview(self) -> str:
        """What would go and what would stay, for the question."""
        from kds.amnesia.inventory import survey  # hardly a session forgets

        found = survey(self.workspace)
        going = found.lines() or ("nothing is remembered",)
        where = f"Forgotten in {self.workspace.root}, after a backup:"
        return "\n".join((where, *_listed(going), "It leaves alone:", *_listed(found.stays)))

    def forget(self) -> str:
        """Do it, and return what was done."""
        from kds.amnesia.forgetting import forget

        self.memory.begin_anew()
        report = forget(self.workspace, clock=self.clock)
        if report.backup is None:
            return "There was nothing to forget."
        left = report.after.lines()
        lines = ["Forgotten:", *_listed(report.before.lines())]
        lines += ["Left:", *_listed(left)] if left else ["Nothing of it is left."]
        lines += [
            f"Backup: {report.backup}",
            "`kds amnesia restore` brings it back.",
            *report.notes,
        ]
        return "\n".join(lines)


def _listed(lines: tuple[str, ...]) -> Iterator[str]:
    return (f"- {line}" for line in lines)
