"""Measures the reference resolver on rewrites: its output against what people wrote.

A turn *needs* a rewrite when none of its accepted rewrites equals the message, but for case,
punctuation and spaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from time import thread_time
from types import ModuleType
from typing import Final, Literal

from pydantic import Field

from kds.api.measures import percentile, rounded, share
from kds.api.rehearsal import bare, matches
from kds.brain.clock import utc_now
from kds.brain.installation import load_extra
from kds.brain.turn import Rewriting, Turn, Utterance, rewriting_to_wire
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.rewriting.need import make_need
from kds.router.rewriting.writer import CheckedRewriter, rewrite_turn
from kds.testing.example_files import AnyOf, CleanText, Loose, Row, Said, read_rows
from kds.testing.metrics import rewrites_of

REWRITE_FORM: Final = (
    '{"history": [{"role": "user", "content": "Add a FAB button"}], '
    '"query": "Make it purple", "rewrite": ["Make the FAB button purple"]}'
)


class _Message(Loose):
    role: Literal["user", "assistant"]
    content: CleanText


class RewriteExample(Loose):
    """A message after a history, and the self-contained forms that count as right."""

    said: list[_Message] | None = Field(None, alias="history")
    query: Said
    rewrites: AnyOf = Field(alias="rewrite")

    @property
    def history(self) -> tuple[Utterance, ...]:
        """What was said before, oldest first."""
        return tuple(Utterance(one.content, one.role) for one in self.said or ())


def read_rewrites(path: Path) -> tuple[RewriteExample, ...]:
    """Read a file of rewrites, JSON lines. Raises ExampleFileError."""
    return read_rows(path, RewriteExample, form=REWRITE_FORM)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An example with the resolver's output, its reasons, and the CPU time in milliseconds.

    ``rewriting`` is None when no model was asked.
    """

    example: RewriteExample
    text: str
    notes: tuple[str, ...]
    cpu_ms: float
    rewriting: Rewriting | None = None

    @property
    def exact(self) -> bool:
        """Whether the output is an accepted rewrite."""
        return matches(self.text, self.example.rewrites)

    @property
    def needed(self) -> bool:
        """Whether the message could not stay as it was."""
        return not matches(self.example.query, self.example.rewrites)

    @property
    def changed(self) -> bool:
        """Whether the resolver changed the message."""
        return bare(self.text) != bare(self.example.query)


def rewrite(
    example: RewriteExample, resolver: Resolver, rewriter: CheckedRewriter | None = None
) -> Rewritten:
    """Resolve the message of ``example`` in its history; ``rewriter`` may ask a model as well."""
    started = thread_time()
    discourse = resolver.replay(example.history)
    found = resolver.resolve(example.query, discourse)
    turn = Turn(
        example.query, utc_now(), history=example.history, edits=found.edits,
        unresolved=found.unresolved, expanded=apply_edits(example.query, found.edits),
        context_switch=resolver.switch(example.query, discourse) is not None, notes=found.notes,
    )  # fmt: skip
    if rewriter is not None:
        turn = rewrite_turn(make_need().run(turn), discourse, rewriter)
    cpu_ms = (thread_time() - started) * 1000.0
    return Rewritten(example, turn.expanded, turn.notes, cpu_ms, turn.rewriting)


def score_rewrites(rewritten: Sequence[Rewritten]) -> dict[str, object]:
    """Add up what `kds eval rewrites` reports; docs/evaluation.md explains the keys.

    Shares in [0, 1], BLEU in [0, 100], None when nothing counts. KdsError without sacrebleu.
    """
    needed = [one for one in rewritten if one.needed]
    times = [one.cpu_ms for one in rewritten]
    by_model = rewrites_of([rewriting_to_wire(one.rewriting) for one in rewritten if one.rewriting])
    return rounded({
        "turns": len(rewritten),
        "exact": share(one.exact for one in rewritten),
        "bleu": bleu(rewritten),
        "needed": len(needed),
        "needed_exact": share(one.exact for one in needed),
        "needed_bleu": bleu(needed),
        "signal_precision": share(one.needed for one in rewritten if one.changed),
        "signal_recall": share(one.changed for one in needed),
        "false_rewrites": share(one.changed for one in rewritten if not one.needed),
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
        **({"rewrites": by_model} if by_model else {}),
    })  # fmt: skip


def rewrite_error(one: Rewritten) -> Row | None:
    """A line that `kds eval rewrites` can read again, with what went wrong."""
    if one.exact:
        return None
    return {
        "where": one.example.where,
        "history": [{"role": said.role, "content": said.text} for said in one.example.history],
        "query": one.example.query,
        "rewrite": list(one.example.rewrites),
        "actual": one.text,
        "needed": one.needed,
        "changed": one.changed,
        "why": list(one.notes),
    }


def load_bleu() -> ModuleType:
    """Import sacrebleu. KdsError when it is not installed."""
    return load_extra("sacrebleu", extra="eval", purpose="measure BLEU")


def bleu(rewritten: Sequence[Rewritten]) -> float | None:
    """Corpus BLEU of sacrebleu, lowercased, its default tokeniser; None for no texts at all."""
    if not rewritten:
        return None
    # one list a rank of reference, with None where a text has fewer
    ranks = [*zip_longest(*(one.example.rewrites for one in rewritten))]
    texts = [one.text for one in rewritten]
    return float(load_bleu().corpus_bleu(texts, ranks, lowercase=True).score)
