"""Measures the reference resolver on rewrites: what came out against what people wrote.

A turn *needs* a rewrite when none of its accepted rewrites equals the message, but for case,
punctuation and spaces. Beside the resolver stands the copy baseline: the message as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import thread_time
from types import ModuleType
from typing import Final

from kds.api.measures import mean, percentile, rounded, share
from kds.api.same_text import bare, matches
from kds.brain.clock import utc_now
from kds.brain.installation import load_extra
from kds.brain.turn import Rewriting, Turn
from kds.brain.wire import rewriting_to_wire
from kds.evaluation.examples import RewriteExample
from kds.evaluation.rewriting_figures import Rewrites, rewrites_of
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.rewriting.writer import CheckedRewriter, rewrite_turn

_TOKEN: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An example with what the resolver made of it, why, and the CPU time in milliseconds."""

    example: RewriteExample
    text: str
    notes: tuple[str, ...]
    cpu_ms: float
    rewriting: Rewriting | None = None
    """None when no model was asked."""

    @property
    def exact(self) -> bool:
        """True when an accepted rewrite came out."""
        return matches(self.text, self.example.rewrites)

    @property
    def needed(self) -> bool:
        """True when the message could not stay as it was."""
        return not matches(self.example.query, self.example.rewrites)

    @property
    def changed(self) -> bool:
        """True when the resolver changed the message."""
        return bare(self.text) != bare(self.example.query)


@dataclass(frozen=True, slots=True)
class Copy:
    """What leaving every message as it is would score."""

    exact: float | None
    bleu: float | None


@dataclass(frozen=True, slots=True)
class RewriteScore:
    """How a set of rewrites came out. Shares in [0, 1], BLEU in [0, 100]; None: nothing counts.

    ``needed`` turns need a rewrite. Of the turns that were changed, ``signal_precision`` needed
    it; of those that needed it, ``signal_recall`` were changed; of those that did not,
    ``false_rewrites`` were.
    """

    turns: int
    exact: float | None
    bleu: float | None
    rouge1_recall: float | None
    needed: int
    needed_exact: float | None
    needed_bleu: float | None
    signal_precision: float | None
    signal_recall: float | None
    false_rewrites: float | None
    copy: Copy
    ms_p50: float
    ms_p99: float
    rewrites: Rewrites | None = None
    """What a model had to do with it; None when none was asked."""

    def as_dict(self) -> Mapping[str, object]:
        """The object that `kds eval rewrites --json` prints: four decimals are enough."""
        values = asdict(self)
        if self.rewrites is None:
            del values["rewrites"]  # no model was asked for
        return rounded(values)


def rewrite(
    example: RewriteExample, resolver: Resolver, rewriter: CheckedRewriter | None = None
) -> Rewritten:
    """Resolve the message of ``example`` in the light of its history.

    With a ``rewriter`` a model is asked where its mode says so.
    """
    started = thread_time()
    discourse = resolver.replay(example.history)
    resolution = resolver.resolve(example.query, discourse)
    turn = Turn(
        example.query,
        utc_now(),
        history=example.history,
        edits=resolution.edits,
        unresolved=resolution.unresolved,
        expanded=apply_edits(example.query, resolution.edits),
        context_switch=resolver.switch(example.query, discourse) is not None,
        notes=resolution.notes,
    )
    if rewriter is not None:
        turn = rewrite_turn(turn, discourse, rewriter)
    cpu_ms = (thread_time() - started) * 1000.0
    return Rewritten(example, turn.expanded, turn.notes, cpu_ms, turn.rewriting)


def score_rewrites(rewritten: Sequence[Rewritten]) -> RewriteScore:
    """Add up what `kds eval rewrites` reports. KdsError when sacrebleu is not installed."""
    needed = [one for one in rewritten if one.needed]
    kept = [one for one in rewritten if not one.needed]
    times = [one.cpu_ms for one in rewritten]
    copies = [one.example.query for one in rewritten]
    return RewriteScore(
        turns=len(rewritten),
        exact=share(one.exact for one in rewritten),
        bleu=bleu([one.text for one in rewritten], _accepted(rewritten)),
        rouge1_recall=mean(rouge1_recall(one.text, one.example.rewrites) for one in rewritten),
        needed=len(needed),
        needed_exact=share(one.exact for one in needed),
        needed_bleu=bleu([one.text for one in needed], _accepted(needed)),
        signal_precision=share(one.needed for one in rewritten if one.changed),
        signal_recall=share(one.changed for one in needed),
        false_rewrites=share(one.changed for one in kept),
        copy=Copy(share(not one.needed for one in rewritten), bleu(copies, _accepted(rewritten))),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
        rewrites=rewrites_of(
            [rewriting_to_wire(one.rewriting) for one in rewritten if one.rewriting is not None]
        ),
    )


def load_bleu() -> ModuleType:
    """Import sacrebleu. KdsError when it is not installed."""
    return load_extra("sacrebleu", extra="eval", purpose="measure BLEU")


def bleu(texts: Sequence[str], accepted: Sequence[Sequence[str]]) -> float | None:
    """Corpus BLEU of sacrebleu, lowercased, its default tokeniser; None for no texts at all.

    Each text has one accepted form or several. KdsError when sacrebleu is not installed.
    """
    if not texts:
        return None
    sacrebleu = load_bleu()
    width = max(len(forms) for forms in accepted)
    # sacrebleu wants one list a rank of reference, with None where a text has fewer
    ranks = [[forms[rank] if rank < len(forms) else None for forms in accepted]
             for rank in range(width)]  # fmt: skip
    return float(sacrebleu.corpus_bleu(list(texts), ranks, lowercase=True).score)


def rouge1_recall(text: str, accepted: Iterable[str]) -> float:
    """The share of an accepted form's words that ``text`` has; of the form that does best.

    >>> rouge1_recall("Make it purple", ["Make the button purple"])
    0.5
    """
    has = Counter(_TOKEN.findall(text.lower()))
    recalls = []
    for form in accepted:
        wanted = Counter(_TOKEN.findall(form.lower()))
        recalls.append((has & wanted).total() / wanted.total() if wanted else 0.0)
    return max(recalls, default=0.0)


def _accepted(rewritten: Iterable[Rewritten]) -> list[tuple[str, ...]]:
    return [one.example.rewrites for one in rewritten]
