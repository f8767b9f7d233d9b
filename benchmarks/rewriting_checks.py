"""What the checks on a model's rewrites let through, and what they turn down for nothing.

    python benchmarks/rewriting_checks.py [REWRITES.jsonl ...] [--lies FILE] [--last N] [--json]

A lying model says each lie of the file (default: tests/router/rewriting/lying_rewrites.yaml) in its
conversation, and each good rewrite. Then the rewrites that people wrote (the format of
`kds eval rewrites`) are said as if a model had written them; only messages that needed one count.
With ``--last`` only so many messages of the history are known.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import yaml
from common import options, ranks, show

from kds.api.same_text import matches
from kds.api.workspace_parts import load_resolver
from kds.brain.clock import utc_now
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.rewriting.writer import CheckedRewriter, rewrite_turn
from kds.testing.rewrites import read_rewrites

ROUTER_TESTS = Path(__file__).resolve().parent.parent / "tests" / "router"
LIES = ROUTER_TESTS / "rewriting" / "lying_rewrites.yaml"


@dataclass
class Parrot:
    """A model that says what it is told to."""

    answer: str = ""
    name: str = "parrot"
    said: int = 0

    @property
    def version(self) -> str:
        """Never the same: nothing is kept."""
        self.said += 1
        return str(self.said)

    def rewrite(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Say it."""
        return self.answer


class Judge:
    """Says something in a conversation, as a model would, and tells what became of it."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._parrot = Parrot()
        self._checked = CheckedRewriter(self._parrot, resolver.analyse, mode="model-first")
        self.times_ms: list[float] = []

    def outcome(self, history: Sequence[Utterance], message: str, answer: str) -> str:
        """Return "used", "unchanged", or the check that turned the answer down."""
        discourse = self._resolver.replay(history)
        resolution = self._resolver.resolve(message, discourse)
        turn = Turn(
            message,
            utc_now(),
            history=tuple(history),
            rewrite=True,
            expanded=apply_edits(message, resolution.edits),
            edits=resolution.edits,
            unresolved=resolution.unresolved,
        )
        self._parrot.answer = answer
        started = process_time()
        after = rewrite_turn(turn, discourse, self._checked).rewriting
        self.times_ms.append((process_time() - started) * 1000.0)
        if after is None:
            return "not asked"
        return after.reason or after.outcome


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, "--json")
    parser.add_argument("files", nargs="*", type=Path, metavar="REWRITES.jsonl")
    parser.add_argument("--lies", type=Path, default=LIES, help="lies to tell")
    parser.add_argument("--last", type=int, help="messages of the history that are known")
    given = parser.parse_args()
    judge = Judge(load_resolver(Workspace.find()))
    figures: dict[str, object] = {"lies": _lies(judge, given.lies)}
    for file in given.files:
        figures[file.name] = _gold(judge, file, given.last)
    show(figures, as_json=given.json)


def _lies(judge: Judge, file: Path) -> dict[str, object]:
    lies: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    good: Counter[bool] = Counter()
    for case in yaml.safe_load(file.read_text(encoding="utf-8")):
        history = [Utterance(text, role) for said in case["said"] for role, text in said.items()]
        for kind, texts in case["lies"].items():
            for text in texts:
                lies[kind] += 1
                if judge.outcome(history, case["message"], text) == "used":
                    taken[kind] += 1
                    print(f"taken ({case['id']}, {kind}): {text}", file=sys.stderr)
        good.update(
            judge.outcome(history, case["message"], text) == "used" for text in case["good"]
        )
    return {
        "told": lies.total(), "taken": taken.total(), "kinds": dict(lies),
        "good": good.total(), "good taken": good[True], **_cost(judge),
    }  # fmt: skip


def _gold(judge: Judge, file: Path, last: int | None) -> dict[str, object]:
    outcomes: Counter[str] = Counter()
    for history, query, rewrites in _needed(file):
        known = history if last is None else history[-last:]
        found = [judge.outcome(known, query, text) for text in rewrites]
        outcomes["used" if "used" in found else found[0]] += 1
    count = outcomes.total()
    return {"rewrites": count, "accepted": round(outcomes["used"] / max(count, 1), 4),
            "outcomes": dict(outcomes.most_common()), **_cost(judge)}  # fmt: skip


def _needed(file: Path) -> Iterator[tuple[Sequence[Utterance], str, Sequence[str]]]:
    for example in read_rewrites(file):
        if not matches(example.query, example.rewrites):
            yield example.history, example.query, example.rewrites


def _cost(judge: Judge) -> dict[str, float]:
    times, judge.times_ms = judge.times_ms, []
    return {f"cpu_ms_{name}": at for name, at in ranks(times, 50, 99).items()}


if __name__ == "__main__":
    main()
