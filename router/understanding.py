"""The steps that make out what a message means: the same for a turn and for a query.

resolve finds references and their antecedents; decide keeps the edits that are probably right, and
lists the others as unresolved; expand applies them, and notices that the topic changes; a model may
rewrite what the rules could not; classify finds the intent; foreign leaves a message alone that is
not English.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kds.brain.turn import NOT_ENGLISH, UNKNOWN, Edit, Proposal, Reference, Turn, Utterance
from kds.router.classify import make_classify
from kds.router.discourse.history import Discourse
from kds.router.intents.model import IntentModel
from kds.router.intents.policy import decide
from kds.router.intents.turn_model import TurnModel
from kds.router.language.other_languages import is_foreign
from kds.router.pipeline import Step
from kds.router.references.decision import (
    PRECISION,
    Decider,
    bar,
    behind,
    bounded,
    edit_signs,
    is_answered,
)
from kds.router.references.resolver import Known, Resolver, apply_edits, nothing_known
from kds.router.references.taught import is_taught
from kds.router.rewriting.need import need
from kds.router.rewriting.writer import FindRewriter, make_rewrite, no_rewriter

DiscourseOf = Callable[[Turn], Discourse]
"""Returns what a turn's message is read after."""

Precision = Callable[[], float]
"""Returns the share of written edits that is to be right. Asked only when there is an edit."""


def understanding(
    resolver: Resolver,
    model: IntentModel,
    discourse_of: DiscourseOf,
    *,
    turns: TurnModel | None = None,
    decider: Decider | None = None,
    precision: Precision = lambda: PRECISION,
    rewriter: FindRewriter = no_rewriter,
) -> tuple[Step, ...]:
    """List the steps, in order. Without a ``decider`` every proposed edit is written."""
    return (
        make_resolve(resolver, discourse_of),
        make_decide(decider, precision),
        make_expand(resolver, discourse_of),
        Step("need", need),
        make_rewrite(rewriter),
        make_classify(model, turns, analyse=resolver.analyse),
        Step("foreign", leave_foreign),
    )


def named(steps: Iterable[Step], *names: str) -> tuple[Step, ...]:
    """Those of ``steps`` that have one of these names."""
    return tuple(step for step in steps if step.name in names)


def remembered(resolver: Resolver, known: Known = nothing_known) -> DiscourseOf:
    """Reads the context that was remembered.

    ``known`` is asked for what the conversation referred to before its context begins. What was
    said in another language than English names nothing that can be referred to.
    """

    def discourse(turn: Turn) -> Discourse:
        english = (
            entry
            for entry in turn.context
            if not is_foreign(entry.user_message, doubted=entry.intent == UNKNOWN)
        )
        return resolver.discourse(tuple(english), known())

    return discourse


def sent_along(resolver: Resolver, known: Sequence[Utterance] = ()) -> DiscourseOf:
    """Reads the history of the turn, replies included, after what is ``known``."""
    return lambda turn: resolver.replay((*known, *turn.history))


def make_resolve(resolver: Resolver, discourse_of: DiscourseOf | None = None) -> Step:
    """The step that finds references and their antecedents; it rewrites nothing."""
    discourse_of = discourse_of or remembered(resolver)

    def resolve(turn: Turn) -> Turn:
        found = resolver.resolve(
            turn.message, discourse_of(turn), history=turn.history if is_answered(turn) else ()
        )
        return replace(
            turn,
            references=found.references,
            edits=found.edits,
            unresolved=found.unresolved,
            notes=turn.notes + (found.notes or ("no reference to resolve",)),
        )

    return Step("resolve", resolve)


def make_decide(decider: Decider | None, precision: Precision = lambda: PRECISION) -> Step:
    """The step that drops edits that are too likely wrong; without a ``decider`` none is."""

    def decide_edits(turn: Turn) -> Turn:
        if decider is None or not turn.edits:
            return turn
        needed = bar(turn.message, precision())
        kept = [edit for edit in turn.edits if is_taught(turn, edit)]  # nothing to weigh
        proposals = [Proposal(edit, 1.0) for edit in kept]
        groups: dict[Reference | None, list[Edit]] = {}
        for edit in turn.edits:  # a pronoun and its verb are changed both, or neither
            if edit not in kept:
                groups.setdefault(behind(turn, edit), []).append(edit)
        dropped: list[Edit] = []
        notes: list[str] = []
        for reference, edits in groups.items():
            decisions = [decider.decide(edit_signs(turn, edit)) for edit in edits]
            least = bounded(turn, reference, min(probability for probability, _ in decisions))
            (kept if least >= needed else dropped).extend(edits)
            for edit, (_, against) in zip(edits, decisions, strict=True):
                proposals.append(Proposal(edit, least))
                fate = "written" if least >= needed else "not written"
                signs = f"; against it: {', '.join(against)}" if against else ""
                notes.append(
                    f"'{edit.text}' is {fate}: probability {least:.2f}, threshold {needed:.2f}"
                    f"{signs}"
                )
        # only what is written was understood: nothing below the bar is fed back
        written = [behind(turn, edit) for edit in kept]
        references = [one for one in turn.references if not dropped or one in written]
        left = [turn.message[one.start : one.end].strip() for one in dropped]
        unresolved = (*turn.unresolved, *(word or turn.message.strip() for word in left))
        return replace(
            turn,
            edits=tuple(kept),
            references=tuple(references),
            unresolved=tuple(dict.fromkeys(unresolved)),
            proposals=tuple(proposals),
            notes=(*turn.notes, *notes),
        )

    return Step("decide", decide_edits)


def make_expand(resolver: Resolver, discourse_of: DiscourseOf | None = None) -> Step:
    """The step that writes the self-contained message, and notices that the topic changes."""
    discourse_of = discourse_of or remembered(resolver)

    def expand(turn: Turn) -> Turn:
        rule = resolver.switch(turn.message, discourse_of(turn))
        expanded = apply_edits(turn.message, turn.edits)
        targets = [reference.target for reference in turn.references if reference.target]
        notes = [
            "stands alone as written" if expanded == turn.message else f"expanded to '{expanded}'"
        ]
        if rule is not None:
            notes.append(f"the topic changes ({rule}): earlier messages no longer count")
        return replace(
            turn,
            expanded=expanded,
            context_ref=targets[0] if targets else None,
            context_switch=rule is not None,
            notes=(*turn.notes, *notes),
        )

    return Step("expand", expand)


def leave_foreign(turn: Turn) -> Turn:
    """The turn; of a message that is not English nothing is understood.

    Behind classify, since less is enough where nothing was understood.
    """
    found = decide(turn.intent, turn.confidence, turn.alternatives, in_scope=turn.in_scope)
    if not is_foreign(turn.message, doubted=found.action != "route"):
        return turn
    return replace(
        turn,
        english=False,
        references=(),
        edits=(),
        unresolved=(),
        proposals=(),
        expanded=turn.message,
        context_ref=None,
        context_switch=False,
        intent=UNKNOWN,
        confidence=0.0,
        alternatives=(),
        secondary_intents=(),
        notes=(*turn.notes, NOT_ENGLISH),
    )
