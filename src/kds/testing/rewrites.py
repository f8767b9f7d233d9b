"""`kds eval rewrites`: the reference resolver's output against what people wrote.

A turn *needs* a rewrite when none of its accepted rewrites equals the message, but for case,
punctuation and spaces.
"""

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from types import ModuleType
from typing import Literal

from pydantic import Field

from kds.api.measures import share, timed
from kds.api.parts import RewriterSource, load_resolver
from kds.api.rehearsal import bare, matches
from kds.brain.clock import utc_now
from kds.brain.installation import load_extra
from kds.brain.settings import LiveConfig
from kds.brain.turn import MS_DIGITS, Turn, Utterance, plain
from kds.router.prompts.library import PromptLibrary
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.rewriting.need import need
from kds.router.rewriting.writer import CheckedRewriter
from kds.testing.examples import AnyOf, Bench, Example, Row, Text, times
from kds.testing.metrics import rewrites_of


class _Message(Example):
    role: Literal["user", "assistant"]
    content: str


class RewriteExample(Example):
    """A message after a history, and the self-contained forms that count as right."""

    history: list[_Message] | None = None
    query: Text
    rewrites: AnyOf = Field(alias="rewrite")


def rewrite(
    example: RewriteExample, resolver: Resolver, rewriter: CheckedRewriter | None = None
) -> Turn:
    """Resolve the message of ``example`` in its history; ``rewriter`` may ask a model as well."""
    history = tuple(Utterance(one.content, one.role) for one in example.history or ())
    discourse = resolver.replay(history)
    found = resolver.resolve(example.query, discourse)
    turn = Turn(
        example.query, utc_now(), history=history, edits=found.edits,
        unresolved=found.unresolved, expanded=apply_edits(example.query, found.edits),
        context_switch=resolver.switch(example.query, discourse) is not None, notes=found.notes,
    )  # fmt: skip
    return rewriter.rewrite(need(turn)) if rewriter else turn


def run(examples: Sequence[RewriteExample], bench: Bench) -> list[Row]:
    """Rewrite by the rules, and by a model where `rewriting.mode` and `model` of the settings say
    so; one that fails is asked again at once."""
    _bleu()
    workspace = bench.workspace
    resolver, library = load_resolver(workspace), PromptLibrary.load(workspace.prompts_dir)
    model = RewriterSource(LiveConfig(workspace), library, rest_s=0.0)()
    rewrite(examples[0], resolver)  # the first message loads the language side
    return [
        outcome(one, *timed(partial(rewrite, one, resolver, model)))
        for one in bench.each(examples, "rewriting")
    ]


def outcome(example: RewriteExample, turn: Turn, ms: float) -> Row:
    """An example with the outcome, in a form that can be measured again."""
    return {
        "where": example.where,
        **example.model_dump(by_alias=True),
        "actual": turn.expanded,
        "right": matches(turn.expanded, example.rewrites),
        "needed": not matches(example.query, example.rewrites),
        "changed": bare(turn.expanded) != bare(example.query),
        "why": list(turn.notes),
        "model": plain(turn.rewriting, digits=MS_DIGITS),
        "ms": ms,
    }


def score(rows: Sequence[Row]) -> Row:
    """Add up what `kds eval rewrites` reports; docs/evaluation.md explains the keys.

    Shares in [0, 1], BLEU in [0, 100], None when nothing counts. KdsError without sacrebleu.
    """
    needed = [row for row in rows if row["needed"]]
    by_model = rewrites_of([row["model"] for row in rows if row["model"]])
    return {
        "turns": len(rows),
        "exact": share(row["right"] for row in rows),
        "bleu": _bleu_of(rows),
        "needed": len(needed),
        "needed_exact": share(row["right"] for row in needed),
        "needed_bleu": _bleu_of(needed),
        "signal_precision": share(row["needed"] for row in rows if row["changed"]),
        "signal_recall": share(row["changed"] for row in needed),
        "false_rewrites": share(row["changed"] for row in rows if not row["needed"]),
        **times(rows, 50, 99),
        **({"rewrites": by_model} if by_model else {}),
    }


def _bleu() -> ModuleType:
    return load_extra("sacrebleu", extra="eval", purpose="measure BLEU")


def _bleu_of(rows: Sequence[Row]) -> float | None:
    """Corpus BLEU of sacrebleu, lowercased, its default tokeniser; None for no texts at all."""
    if not rows:
        return None
    # one list a rank of reference, with None where a text has fewer
    ranks = [*zip_longest(*(row["rewrite"] for row in rows))]
    return float(_bleu().corpus_bleu([row["actual"] for row in rows], ranks, lowercase=True).score)
