"""A question on its way through the query service, and what is told of its rewriting."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kds.brain.turn import Turn
from kds.query.passage_search import Findings
from kds.query.question_reading import Reading
from kds.query.recollection import Recollection
from kds.query.values import Query, Rewriting, RewrittenBy


@dataclass(frozen=True, slots=True)
class Understood:
    """A question on its way: what it means, and what its session knew."""

    query: Query
    reading: Reading
    known: Recollection | None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    begun: float = 0.0
    findings: Findings = field(default_factory=Findings)

    @property
    def turn(self) -> Turn:
        """The question as it was read."""
        return self.reading.turn

    @property
    def may_be_rewritten(self) -> bool:
        """Whether a model is to be asked what the question means: see `QueryService.rewrite`."""
        return self.reading.rewriter is not None


def resolved_by_session(query: Query, turn: Turn, known: Recollection | None) -> bool:
    """Whether a reference points to something that the session remembered."""
    if known is None or not turn.references:
        return False
    if query.context is None:  # there was nothing else to resolve it with
        return True
    remembered = {term.casefold() for term in known.terms}
    return any(one.target.casefold() in remembered for one in turn.references)


def rewriting_of(turn: Turn) -> Rewriting:
    """Who made a question self-contained, and why it was taken so."""
    by: RewrittenBy = "rules" if turn.expanded != turn.message else "nobody"
    if turn.rewriting is not None and turn.rewriting.outcome == "used":
        by = "model"
    return Rewriting(by, turn.references, turn.why)
