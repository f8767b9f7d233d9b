"""Reading a question after what was said before it: what it refers to, and its intent."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter
from typing import Final

from kds.api.workspace_parts import Parts
from kds.brain.errors import KdsError
from kds.brain.turn import StepRecord, Turn, Utterance
from kds.router.classify import make_classify
from kds.router.discourse.history import Discourse
from kds.router.discourse.mention import Mention
from kds.router.references.resolver import apply_edits
from kds.router.rewrite import FindRewriter
from kds.router.rewriting.writer import CheckedRewriter, rewrite_turn

TERMS: Final = 5
"""Things of one question that are remembered."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the rules read it, and what they read it after.

    ``rewriter`` is set when a model may do better: see `Reader.ask_model`.
    """

    turn: Turn
    discourse: Discourse = field(default_factory=Discourse)
    rewriter: CheckedRewriter | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads questions with the rules and the intent model of a workspace."""

    parts: Parts
    find_rewriter: FindRewriter

    def read(
        self,
        text: str,
        said: Sequence[Utterance],
        known: Sequence[Utterance],
        *,
        at: datetime,
        rewrites: bool = True,
    ) -> Reading:
        """Return what the rules make of a question: of what was ``said``, after what is ``known``.

        Without ``rewrites`` it stays as it is.
        """
        turn = Turn(text, at, history=tuple(said), expanded=text)
        if not rewrites:
            return Reading(turn)
        resolver = self.parts.resolver
        discourse = resolver.replay((*known, *said))
        resolution = resolver.resolve(text, discourse)
        targets = [reference.target for reference in resolution.references]
        turn = replace(
            turn,
            references=resolution.references,
            edits=resolution.edits,
            unresolved=resolution.unresolved,
            expanded=apply_edits(text, resolution.edits),
            context_ref=targets[0] if targets else None,
            context_switch=resolver.switch(text, discourse) is not None,
            records=(StepRecord("resolve", resolution.notes),),
        )
        return self._with_rewriter(Reading(turn, discourse))

    def ask_model(self, reading: Reading) -> Turn:
        """Have a model rewrite the question, where one may; the rules' reading, where not.

        Takes as long as `rewriting.timeout_s` allows: not for a thread that others need.
        """
        if reading.rewriter is None:
            return reading.turn
        started = perf_counter()
        turn = rewrite_turn(reading.turn, reading.discourse, reading.rewriter)
        ms = (perf_counter() - started) * 1000.0
        return _recorded(turn, turn.notes, ms)

    def classify(self, turn: Turn) -> Turn:
        """Find the intent of a question that stands alone."""
        return make_classify(self.parts.model).run(turn)

    def terms(self, turn: Turn) -> list[str]:
        """What a question is about: what it referred to, and what it names itself."""
        discourse = self.parts.resolver.replay((Utterance(turn.expanded),))
        named = [one.text for one in discourse.last.mentions if _names_something(one)]
        targets = [reference.target for reference in turn.references]
        return list(dict.fromkeys([*targets, *named]))[:TERMS]

    def _with_rewriter(self, reading: Reading) -> Reading:
        try:
            rewriter = self.find_rewriter()
        except KdsError as error:
            notes = (f"no model was asked: {error.message}",)
            return replace(reading, turn=_recorded(reading.turn, notes, 0.0))
        if rewriter is None or not rewriter.wants(reading.turn):
            return reading
        return replace(reading, rewriter=rewriter)


def _recorded(turn: Turn, notes: Sequence[str], ms: float) -> Turn:
    record = StepRecord("rewrite", tuple(notes), ms)
    return replace(turn, notes=(), records=(*turn.records, record))


def _names_something(mention: Mention) -> bool:
    """A thing of its own that may be referred to later; a group is told by its members."""
    return not (mention.parts or mention.negated or mention.person)
