"""Every conversation of one workspace, over rules, prompts and a model that are loaded once."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from kds.api.parts import LearnedParts, Parts, RewriterSource
from kds.api.records import Records
from kds.api.routing import Router, precision_of, rehearsed
from kds.api.turn_log import TurnLog, TurnRecord
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import Contexts, Journal
from kds.brain.settings import LiveConfig
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.references.resolver import Known
from kds.router.rewrite import FindRewriter


class Conversations(Records):
    """The conversations of one workspace. Make it with `Conversations.open`."""

    def __init__(
        self,
        parts: Parts,
        *,
        clock: Clock = utc_now,
        turns: TurnRecord | None = None,
        environ: Mapping[str, str] = os.environ,
        contexts: Contexts | None = None,
    ) -> None:
        """``parts`` are as `Parts.load` gives them; what was taught is laid over them here."""
        contexts = contexts or Contexts(parts.workspace, clock=clock, environ=environ)
        turns = turns or TurnLog(parts.workspace, clock=clock, environ=environ)
        super().__init__(
            parts.workspace, parts.library, contexts, clock=clock, turns=turns, environ=environ
        )
        self._base = parts
        config = LiveConfig(parts.workspace, environ=environ)
        self._learned = LearnedParts(parts, config)
        self._precision = precision_of(config)
        self._rewriter = RewriterSource(config, parts.library, parts.resolver)

    @classmethod
    def open(
        cls,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        turns: TurnRecord | None = None,
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
        """What is loaded once, and shared by every conversation; and what was learned so far."""
        return self._learned.now

    def refreshed(self) -> Parts:
        """The same with what was learned until now, as far as a server answers."""
        return self._learned.at(self.contexts.marks(look=True))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong on loading without being an error."""
        return self.parts.warnings

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
        inherit: bool = True,
        log: bool = True,
        history: Iterable[object] = (),
        rewrite: bool | None = None,
        known: Sequence[str] | None = None,
        origin: str | None = None,
    ) -> Turn:
        """Route ``message`` in its conversation; without a name, in that of the workspace.

        With ``join`` the context of the workspace stands in while the conversation has none,
        and every message is remembered there too: a new window goes on with what was said in
        the one before; without ``inherit`` it begins empty. ``history`` and ``rewrite`` are those
        of `Router.route`. ``known`` is what the conversation has referred to, where the caller
        remembers that. ``origin``: where a message of the workspace's own conversation was typed;
        it does not refer to what another terminal says (`kds.brain.context.names`).

        Raises what `Router.route` raises, and WorkspaceError when the folder cannot be used.
        """
        if log:
            self.workspace.ensure()
        journal = self.journal(conversation, join=join, inherit=inherit, origin=origin)
        # The lock of the conversation comes first: what others taught until now counts.
        with journal.alone() if log else nullcontext():
            router = Router(
                self._learned.at(self.contexts.marks(look=not log)),
                journal,
                clock=self._clock,
                log=log,
                known=self._known(journal, conversation, origin)
                if known is None
                else lambda: known,
                rewriter=self._rewriter,
                precision=self._precision,
            )
            turn = router.route(message, history=history, rewrite=rewrite)
        return self._noted(turn, conversation) if log else turn

    def _known(self, journal: Journal, conversation: str | None, origin: str | None) -> Known:
        """What the conversation has referred to; nothing while other terminals share it: the
        memory does not tell whose term is whose."""
        known = self.turns.known(conversation)
        if conversation is not None or origin is None:
            return known

        def unshared() -> Sequence[str]:
            terms = tuple(known())
            shared = terms and len(journal.load().entries) < len(self.journal().load().entries)
            return () if shared else terms

        return unshared

    def rehearse(self) -> Router:
        """Open a conversation in memory that leaves no trace."""
        return rehearsed(self.parts, self._clock)

    def reloaded(self) -> "Conversations":
        """Return the same with rules and prompts as they are now; raises what `open` raises."""
        parts = Parts.load(self.workspace, may_write=self.workspace.brain.is_dir())
        return Conversations(parts, clock=self._clock, contexts=self.contexts)

    def under(
        self,
        environ: Mapping[str, str],
        *,
        turns: TurnRecord,
        contexts: Contexts | None = None,
    ) -> "Conversations":
        """Return the same with the settings that hold in another environment."""
        return Conversations(
            self._base,
            clock=self._clock,
            turns=turns,
            environ=environ,
            contexts=contexts,
        )
