"""What is kept of the messages of a workspace once they are routed.

The workspace's own context is shared by all its windows. A client that says which
conversation a message belongs to gets a context of its own, in a file of its own.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kds.api.turn_log import TurnLog, TurnRecord
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import MAX_AGE, Contexts, Journal, LoadedContext
from kds.brain.turn import NOTED, WARNING, ContextEntry, StepRecord, Turn
from kds.brain.workspace import Workspace
from kds.learning.corrections import LearningLog
from kds.learning.teaching import offer
from kds.router.log import make_log
from kds.router.pipeline import Pipeline
from kds.router.prompts.library import PromptLibrary

_OURS: Final = re.compile(r"[a-z0-9-]*-[0-9a-f]{16}\.jsonl(?:\.waiting)?(?:\.lock|\.bad)?")
"""Names that `kds.brain.context.names` makes, what a journal keeps beside them, and what
earlier versions left for a server."""


class Records:
    """The contexts of every conversation of one workspace, its memory, and what it learns."""

    def __init__(
        self,
        workspace: Workspace,
        library: PromptLibrary,
        contexts: Contexts,
        *,
        clock: Clock = utc_now,
        turns: TurnRecord | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """``turns`` is told of every turn that is logged, instead of a `TurnLog`."""
        self.workspace = workspace
        """Whose conversations these are."""
        self.library = library
        """The prompts that messages are dispatched to."""
        self._clock = clock
        self._learning = LearningLog(workspace, library, clock=clock, environ=environ)
        self.contexts = contexts
        """The contexts of all conversations."""
        self.turns: TurnRecord = turns or TurnLog(workspace, clock=clock)
        """What is told of every turn that is logged."""

    def log(
        self, turn: Turn, *, conversation: str | None = None, origin: str | None = None
    ) -> Turn:
        """Remember a turn that was routed without that; returned with the record of it.

        For callers that do something between the two. Raises StoreError and WorkspaceError.
        """
        self.workspace.ensure()
        step = make_log(self.journal(conversation, origin=origin))
        logged = Pipeline([step], given=step.reads).run(turn)
        return self._noted(logged, conversation)

    def journal(
        self,
        conversation: str | None = None,
        *,
        join: bool = False,
        inherit: bool = True,
        origin: str | None = None,
    ) -> Journal:
        """The context of a conversation. Raises MessageError when its name cannot be one.

        One that is to ``join`` reports to the workspace's; if it may ``inherit``, that stands in
        for it as long as it is empty. ``origin`` says where messages of the workspace's own come
        from, and so which of them count (`kds.brain.context.names`).
        """
        if conversation is None:
            return self.contexts.journal(origin=origin)
        own = self.contexts.journal(conversation)
        if not join:
            return own
        window = f"window:{hashlib.sha256(conversation.encode(errors='replace')).hexdigest()[:12]}"
        return _Joined(own, self.contexts.journal(), inherit, window)

    def clear(self, conversation: str | None = None) -> int:
        """Forget the context of a conversation, and what it referred to; returns the entries.

        Raises MessageError, and StoreError when either cannot be written.
        """
        count = self.journal(conversation).clear()
        self.turns.forget(conversation)
        return count

    def _noted(self, turn: Turn, conversation: str | None) -> Turn:
        """Tell the memory of a turn that stands in the context by now, and the learning.

        What that notes of a correction is recorded in the turn that is returned.
        """
        if (trouble := self.turns.note(turn, conversation)) is not None:
            record = StepRecord("memory", (f"{WARNING}{trouble}",))
            turn = replace(turn, records=(*turn.records, record))
        one = self._learning.note(turn, conversation)
        if one is None or one.kind != "corrected":
            return turn
        return replace(turn, records=(*turn.records, StepRecord(NOTED, (offer(one),))))


def tidy_conversations(folder: Path, *, now: Callable[[], float]) -> int:
    """Remove what in ``folder`` was last written longer than MAX_AGE before ``now`` (epoch s).

    A conversation's lock and set-aside lines go with it; files of other names stay, and so does
    everything behind a link: a project may have brought one along that leads elsewhere.
    """
    if folder.is_symlink():
        return 0
    horizon = now() - MAX_AGE.total_seconds()
    count = 0
    for path in folder.glob("*"):
        with suppress(OSError):  # another process was faster
            if _OURS.fullmatch(path.name) and path.lstat().st_mtime < horizon:
                path.unlink()
                count += path.suffix == ".jsonl"
    return count


@dataclass(frozen=True, slots=True)
class _Joined(Journal):
    """A conversation that may begin where the workspace's stands, and reports back to it.

    Only one that may ``inherit`` begins there, and only with a first message that refers to
    something: one that stands alone begins a conversation of its own.
    """

    own: Journal
    shared: Journal
    inherit: bool
    origin: str
    """What the lines in the shared context say of where they come from."""

    def alone(self) -> AbstractContextManager[None]:
        return self.own.alone()

    def load(self) -> LoadedContext:
        loaded = self.own.load()
        if loaded.entries or not self.inherit:
            return loaded
        found = self.shared.load()
        return replace(found, warnings=(*loaded.warnings, *found.warnings))

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        refers_back = entry.context_ref is not None and not fresh
        if self.inherit and refers_back and not self.own.load().entries:
            for earlier in self.shared.load().entries:
                self.own.log(earlier)
        self.shared.log(replace(entry, origin=self.origin), fresh=fresh)
        return self.own.log(entry, fresh=fresh)

    def clear(self) -> int:
        return max(self.own.clear(), self.shared.clear())
