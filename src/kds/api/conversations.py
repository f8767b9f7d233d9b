"""Every conversation of one workspace, over rules, prompts and a model that are loaded once.

The workspace's own context is shared by all its windows. A client that says which
conversation a message belongs to gets a context of its own, in a file of its own.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

from kds.api.parts import LearnedParts, Parts, RewriterSource, precision_of
from kds.api.routing import Router, rehearsed
from kds.api.turn_log import TurnLog, TurnRecord
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import Contexts, Journal, LoadedContext
from kds.brain.errors import Problem
from kds.brain.settings import LiveConfig
from kds.brain.turn import NOTED, WARNING, ContextEntry, StepRecord, Turn
from kds.brain.workspace import Workspace
from kds.learning.corrections import LearningLog
from kds.learning.teaching import offer
from kds.router.pipeline import run_steps
from kds.router.prompts.library import PromptLibrary
from kds.router.remembering import make_log


class Records:
    """The contexts of every conversation of one workspace, its memory, and what it learns."""

    def __init__(
        self, workspace: Workspace, library: PromptLibrary, contexts: Contexts, turns: TurnRecord,
        *, environ: Mapping[str, str] = os.environ, origin: str | None = None,
    ) -> None:  # fmt: skip
        """``turns`` is told of every turn that is logged; ``origin`` is where messages come from
        unless it is said of one (`kds.brain.context.names`)."""
        self.workspace, self.library, self.contexts = workspace, library, contexts
        self.turns, self.origin = turns, origin
        self._learning = LearningLog(workspace, library, clock=turns.clock, environ=environ)

    def log(
        self, turn: Turn, *, conversation: str | None = None, origin: str | None = None
    ) -> Turn:
        """Remember a turn that was routed without that; returned with the record of it.

        For callers that do something between the two. Raises StoreError and WorkspaceError.
        """
        self.workspace.ensure()
        logged = run_steps([make_log(self.journal(conversation, origin=origin))], turn)
        return self._noted(logged, conversation)

    def journal(
        self, conversation: str | None = None, *, join: bool = False, inherit: bool = True,
        origin: str | None = None,
    ) -> Journal:  # fmt: skip
        """The context of a conversation. Raises MessageError when its name cannot be one.

        One that is to ``join`` reports to the workspace's; if it may ``inherit``, that stands in
        for it as long as it is empty. ``origin`` says where messages of the workspace's own come
        from, and so which of them count (`kds.brain.context.names`).
        """
        if conversation is None:
            return self.contexts.journal(origin=origin or self.origin)
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
        event = self._learning.note(turn, conversation)
        if event is None or event.kind != "corrected":
            return turn
        return replace(turn, records=(*turn.records, StepRecord(NOTED, (offer(event),))))


class Conversations(Records):
    """The conversations of one workspace. Make it with `Conversations.open`."""

    def __init__(
        self, parts: Parts, turns: TurnRecord, *, environ: Mapping[str, str] = os.environ,
        contexts: Contexts | None = None,
    ) -> None:  # fmt: skip
        """``parts`` are as `Parts.load` gives them; what was taught is laid over them here."""
        contexts = contexts or Contexts(parts.workspace, clock=turns.clock, environ=environ)
        super().__init__(parts.workspace, parts.library, contexts, turns, environ=environ)
        self.config = config = LiveConfig(parts.workspace, environ=environ)
        self._base = parts
        self._learned = LearnedParts(parts, config, contexts.texts)
        self._precision = precision_of(config)
        self.rewriter = RewriterSource(config, parts.library)
        """Finds the rewriter that the settings name, None when they name none."""

    @classmethod
    def open(
        cls, workspace: Workspace, *, clock: Clock = utc_now, turns: TurnRecord | None = None
    ) -> Self:
        """Load rules, prompts and model of ``workspace``: seconds, not milliseconds.

        ``turns`` is told of every turn that is logged, instead of a `TurnLog`. No folder is made
        before there is something to remember. Files of the workspace that do not load are left
        out: ``problems`` says why.
        """
        parts = Parts.sound(workspace)
        return cls(parts, turns or TurnLog(workspace, clock=clock))

    @property
    def parts(self) -> Parts:
        """What is loaded once, and shared by every conversation; and what was learned so far."""
        return self._learned.now

    def refreshed(self) -> Parts:
        """The same with what was learned until now, as far as a server answers."""
        return self._learned.refreshed()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with files of the workspace: the ones left out, and its settings."""
        self.config.current()
        wrong = self.config.problem
        return (*self.parts.problems, *(wrong.problems if wrong else ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong on loading without being an error."""
        left_out = (f"going on without this file: {one}" for one in self.parts.problems)
        return (*self.parts.warnings, *left_out)

    def route(
        self, message: str, *, conversation: str | None = None, join: bool = False,
        inherit: bool = True, log: bool = True, history: Iterable[object] = (),
        rewrite: bool | None = None, known: Sequence[str] | None = None, origin: str | None = None,
    ) -> Turn:  # fmt: skip
        """Route ``message`` in its conversation; without a name, in that of the workspace.

        ``join``, ``inherit`` and ``origin`` are those of `journal`: a new window goes on with what
        was said in the one before, and no message refers to what another terminal says.
        ``history`` and ``rewrite`` are those of `Router.route`. ``known`` is what the conversation
        has referred to, where the caller remembers that.

        Raises what `Router.route` raises, and WorkspaceError when the folder cannot be used.
        """
        if log:
            self.workspace.ensure()
        journal = self.journal(conversation, join=join, inherit=inherit, origin=origin)

        @cache
        def referred_to() -> Sequence[str]:
            """Nothing while other terminals share it: the memory cannot tell their terms apart."""
            if known is not None:
                return known
            terms = self.turns.known(conversation)
            if not terms or conversation is not None or origin is None:
                return terms
            shared = len(journal.load().entries) < len(self.journal().load().entries)
            return () if shared else terms

        with self.contexts.texts.reading():
            parts, loaded = self.refreshed(), journal.load()
            referred_to()
        router = Router(
            parts, _Loaded(journal, loaded), clock=self.turns.clock, log=log, known=referred_to,
            rewriter=self.rewriter, precision=self._precision,
        )  # fmt: skip
        turn = router.route(message, history=history, rewrite=rewrite)
        return self._noted(turn, conversation) if log else turn

    def rehearse(self) -> Router:
        """Open a conversation in memory that leaves no trace."""
        return rehearsed(self.parts, self.turns.clock)

    def reloaded(self) -> "Conversations":
        """Return the same with rules and prompts as they are now, without files that are wrong."""
        turns = TurnLog(self.workspace, clock=self.turns.clock)
        return Conversations(Parts.sound(self.workspace), turns, contexts=self.contexts)

    def under(
        self, environ: Mapping[str, str], *, turns: TurnRecord, contexts: Contexts | None = None
    ) -> "Conversations":
        """Return the same with the settings that hold in another environment."""
        return Conversations(self._base, turns, environ=environ, contexts=contexts)


@dataclass(frozen=True, slots=True)
class _Loaded(Journal):
    """A conversation that was read already."""

    journal: Journal
    loaded: LoadedContext

    def load(self) -> LoadedContext:
        return self.loaded

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        return self.journal.log(entry, fresh=fresh)

    def clear(self) -> int:
        return self.journal.clear()


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
