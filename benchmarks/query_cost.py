"""What a question costs without a language model, and how often a session's memory is of use.

    python benchmarks/query_cost.py                  conversations over documents, in sessions
    python benchmarks/query_cost.py --context        the same, with the context sent along instead

Each conversation of `tests/documents/follow_ups.yaml` is held once, question by question, over
the three documents beside it, as `POST /query` does it. Overhead is what rewriting and memory take
(issue 6: at most 20 ms, median); retrieval is apart. `--json` prints the figures alone.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from kds.brain.clock import utc_now
from kds.brain.documents.document_store import DocumentStore
from kds.brain.workspace import Workspace
from kds.evaluation.followup_data import read_follow_ups
from kds.query.metric import SessionHits, session_hits
from kds.query.service import QueryService
from kds.query.values import Query, QueryReply
from kds.readers.reading import read_document, read_source
from kds.transit.history import Message

DOCUMENTS: Final = Path(__file__).resolve().parent.parent / "tests" / "documents"
OVERHEAD: Final = ("session", "rewriting", "memory")
"""Stages that are no retrieval: reading the session, resolving and classifying, remembering."""


def main() -> int:
    """Hold the conversations and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--context", action="store_true", help="send contexts, keep no sessions")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Workspace.find(environ={"KDS_HOME": folder})
        add_documents(place)
        with QueryService.open(place) as service:
            figures = measure(service, sessions=not given.context)
    print(json.dumps(figures) if given.json else _table(figures))
    return 0


def add_documents(place: Workspace) -> None:
    """Index the documents of the tests in a workspace."""
    place.ensure()
    with DocumentStore.made(place) as store:
        for path in sorted(DOCUMENTS.iterdir()):
            if path.suffix in (".md", ".html", ".txt"):
                data, source = read_source(path)
                store.put(read_document(path, data), source)


def measure(service: QueryService, *, sessions: bool) -> dict[str, Any]:
    """Hold every conversation; the first question of all only warms up."""
    service.ask(Query("What is this about?", context=()))
    replies, walls, cpus = [], [], []
    began = utc_now()
    for talk in read_follow_ups(DOCUMENTS / "follow_ups.yaml"):
        said: list[Message] = []
        for turn in talk.questions:
            query = (
                Query(turn.user, session=talk.id)
                if sessions
                else Query(turn.user, context=tuple(said))
            )
            wall, cpu = time.perf_counter(), time.process_time()
            replies.append(service.ask(query))
            walls.append((time.perf_counter() - wall) * 1000.0)
            cpus.append((time.process_time() - cpu) * 1000.0)
            said.append(Message("user", turn.user))
    store = service.memory.store if sessions else None
    rows = store.metrics.since(began - timedelta(minutes=1)) if store else ()
    return _figures(replies, walls, cpus, session_hits(rows))


def _figures(
    replies: Sequence[QueryReply], walls: list[float], cpus: list[float], hits: SessionHits
) -> dict[str, Any]:
    stages = [one.timings_ms for one in replies]
    return {
        "questions": len(replies),
        "overhead_ms": _spread([_overhead(one) for one in stages]),
        "retrieval_ms": _spread([one["retrieval"] for one in stages]),
        "turn_wall_ms": _spread(walls),
        "turn_cpu_ms": _spread(cpus),
        **{f"{name}_ms": _spread([one[name] for one in stages]) for name in OVERHEAD},
        "session_memory_hit_rate": hits.hit_rate and round(hits.hit_rate, 3),
        "later_turns": hits.later_turns,
    }


def _overhead(timings: Mapping[str, float]) -> float:
    return sum(timings[stage] for stage in OVERHEAD)


def _spread(values: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100)
    return {"p50": round(cuts[49], 2), "p95": round(cuts[94], 2)}


def _table(figures: Mapping[str, Any]) -> str:
    return "\n".join(f"{name:<26}{value}" for name, value in figures.items())


if __name__ == "__main__":
    sys.exit(main())
