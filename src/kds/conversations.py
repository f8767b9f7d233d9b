"""Every conversation of one workspace, over rules, prompts and a model that are loaded once.

The workspace's own context is shared by all its windows (DESIGN 3). A client that says which
conversation a message belongs to gets a context of its own, in a file of its own.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import MessageError
from kds.brain.journal import MAX_AGE, ContextJournal, Journal, LoadedContext
from kds.brain.turn import ContextEntry, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.learning.log import LearningLog
from kds.rewriting import RewriterSource
from kds.router.library import PromptLibrary
from kds.router.log import make_log
from kds.router.pipeline import Pipeline
from kds.router.rewrite import FindRewriter
from kds.routing import Parts, Router
from kds.turn_log import TurnLog, TurnRecord

NAME_LIMIT: Final = 128
"""Longest name of a conversation in characters; clients use UUIDs of 36."""

_SPELLED: Final = 40
"""Characters of the name that stand in its file name, for people; the hash tells them apart."""

_UNSAFE: Final = re.compile(r"[^a-z0-9]+")

_OURS: Final = re.compile(r"[a-z0-9-]*-[0-9a-f]{16}\.jsonl(?:\.lock|\.bad)?")
"""Names that `conversation_path` makes, and what a journal keeps beside them."""


class Conversations:
    """The conversations of one workspace. Make it with `Conversations.open`."""

    def __init__(
        self,
        parts: Parts,
        *,
        clock: Clock = utc_now,
        turns: TurnRecord | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._parts = parts
        self._clock = clock
        self._turns: TurnRecord = turns or TurnLog(parts.workspace, clock=clock, environ=environ)
        self._learning = LearningLog(parts.workspace, parts.library, clock=clock)
        self._rewriter = RewriterSource(
            parts.workspace, parts.library, parts.resolver, environ=environ
        )

    @classmethod
    def open(
        cls, workspace: Workspace, *, clock: Clock = utc_now, turns: TurnRecord | None = None
    ) -> "Conversations":
        """Load rules, prompts and model of ``workspace``: seconds, not milliseconds.

        ``turns`` is told of every turn that is logged, instead of a `TurnLog`. No folder is made
        before there is something to remember. Raises ConfigError when a rule or prompt file
        does not load.
        """
        parts = Parts.load(workspace, may_write=workspace.brain.is_dir())
        return cls(parts, clock=clock, turns=turns)

    @property
    def parts(self) -> Parts:
        """What is loaded once, and shared by every conversation."""
        return self._parts

    @property
    def workspace(self) -> Workspace:
        """Whose conversations these are."""
        return self._parts.workspace

    @property
    def library(self) -> PromptLibrary:
        """The prompts that messages are dispatched to."""
        return self._parts.library

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong on loading without being an error."""
        return self._parts.warnings

    @property
    def rewriter(self) -> FindRewriter:
        """Finds the rewriter that the settings name, None when they name none."""
        return self._rewriter

    def route(
        self,
        message: str,
        *,
        conversation: str | None = None,
        join: bool = False,
        log: bool = True,
        history: Sequence[Utterance] = (),
        rewrite: bool | None = None,
        known: Sequence[str] | None = None,
    ) -> Turn:
        """Route ``message`` in its conversation; without a name, in that of the workspace.

        With ``join`` the context of the workspace stands in while the conversation has none,
        and every message is remembered there too: a new window goes on with what was said in
        the one before. ``history`` and ``rewrite`` are those of `Router.route`. ``known`` is
        what the conversation has referred to, where the caller remembers that.

        Raises what `Router.route` raises, and WorkspaceError when the folder cannot be used.
        """
        if log:
            self.workspace.ensure()
        journal = self.journal(conversation, join=join)
        router = Router(
            self._parts,
            journal,
            clock=self._clock,
            log=log,
            known=self._turns.known(conversation) if known is None else lambda: known,
            rewriter=self._rewriter,
        )
        turn = router.route(message, history=history, rewrite=rewrite)
        if log:
            self._turns.note(turn, conversation)
            self._learning.note(turn, conversation)
        return turn

    def log(self, turn: Turn, *, conversation: str | None = None) -> Turn:
        """Remember a turn that was routed without that; returned with the record of it.

        For whoever has to do something between the two. Raises StoreError and WorkspaceError.
        """
        self.workspace.ensure()
        step = make_log(self.journal(conversation))
        logged = Pipeline([step], given=step.reads).run(turn)
        self._turns.note(logged, conversation)
        self._learning.note(logged, conversation)
        return logged

    def journal(self, conversation: str | None = None, *, join: bool = False) -> Journal:
        """The context of a conversation. Raises MessageError when its name cannot be one."""
        shared = ContextJournal(self.workspace.context_path, clock=self._clock)
        if conversation is None:
            return shared
        path = conversation_path(self.workspace, conversation)
        own = ContextJournal(path, clock=self._clock)
        return _Joined(own, shared) if join else own

    def clear(self, conversation: str | None = None) -> int:
        """Forget the context of a conversation, and what it referred to; returns the entries.

        Raises MessageError, and StoreError when either cannot be written.
        """
        count = self.journal(conversation).clear()
        self._turns.forget(conversation)
        return count

    def reloaded(self) -> "Conversations":
        """Return the same with rules and prompts as they are now; raises what `open` raises."""
        return Conversations.open(self.workspace, clock=self._clock)

    def under(self, environ: Mapping[str, str], *, turns: TurnRecord) -> "Conversations":
        """Return the same with the settings that hold in another environment."""
        return Conversations(self._parts, clock=self._clock, turns=turns, environ=environ)

    def tidy(self) -> int:
        """Remove the files of conversations nobody spoke in for MAX_AGE; returns how many."""
        return tidy_conversations(self.workspace.conversations_dir, now=time.time)


def conversation_path(workspace: Workspace, conversation: str) -> Path:
    """Where the context of a conversation is kept, whatever its name is made of.

    Raises MessageError when the name is empty or longer than NAME_LIMIT.
    """
    if not conversation.strip() or len(conversation) > NAME_LIMIT:
        raise MessageError(
            f"a conversation's name has 1 to {NAME_LIMIT} characters, not {len(conversation)}",
            hint="use the session id of the client",
        )
    digest = hashlib.sha256(conversation.encode(errors="surrogatepass")).hexdigest()[:16]
    spelled = _UNSAFE.sub("-", conversation.lower())[:_SPELLED].strip("-")
    return workspace.conversations_dir / f"{spelled}-{digest}.jsonl"


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
        with suppress(OSError):  # another process was faster, or it is none of ours
            if _OURS.fullmatch(path.name) and path.lstat().st_mtime < horizon:
                path.unlink()
                count += path.suffix == ".jsonl"
    return count


@dataclass(frozen=True, slots=True)
class _Joined:
    """A conversation that may begin where the workspace's stands, and reports back to it.

    Only a first message that refers to something takes over what was said elsewhere: one that
    stands alone begins a conversation of its own.
    """

    own: Journal
    shared: Journal

    def load(self) -> LoadedContext:
        loaded = self.own.load()
        if loaded.entries:
            return loaded
        found = self.shared.load()
        return replace(found, warnings=(*loaded.warnings, *found.warnings))

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        refers_back = entry.context_ref is not None and not fresh
        if refers_back and not self.own.load().entries:
            for earlier in self.shared.load().entries:
                self.own.log(earlier)
        self.shared.log(entry, fresh=fresh)
        return self.own.log(entry, fresh=fresh)

    def clear(self) -> int:
        return max(self.own.clear(), self.shared.clear())
