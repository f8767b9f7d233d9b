"""The steps that make out what a message means: the same for a turn and for a query.

What differs is said by arguments: what the message is read after, and what decides which of the
proposed edits are written.
"""

from collections.abc import Iterable

from kds.router.classify import make_classify
from kds.router.conversation import DiscourseOf
from kds.router.decide import Precision, make_decide, usual_precision
from kds.router.expand import make_expand
from kds.router.foreign import make_foreign
from kds.router.intents.model import IntentModel
from kds.router.intents.turn_model import TurnModel
from kds.router.pipeline import Step
from kds.router.references.decision import Decider
from kds.router.references.resolver import Resolver
from kds.router.resolve import make_resolve
from kds.router.rewriting.need import make_need
from kds.router.rewriting.writer import FindRewriter, make_rewrite, no_rewriter


def understanding(
    resolver: Resolver,
    model: IntentModel,
    discourse_of: DiscourseOf,
    *,
    turns: TurnModel | None = None,
    decider: Decider | None = None,
    precision: Precision = usual_precision,
    rewriter: FindRewriter = no_rewriter,
) -> tuple[Step, ...]:
    """List the steps, in order. Without a ``decider`` every proposed edit is written."""
    return (
        make_resolve(resolver, discourse_of),
        make_decide(decider, precision),
        make_expand(resolver, discourse_of),
        make_need(),
        make_rewrite(rewriter),
        make_classify(model, turns, analyse=resolver.analyse),
        make_foreign(),
    )


def named(steps: Iterable[Step], *names: str) -> tuple[Step, ...]:
    """Those of ``steps`` that have one of these names."""
    return tuple(step for step in steps if step.name in names)
