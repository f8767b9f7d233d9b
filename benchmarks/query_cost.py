"""What a question costs without a language model, and how often a session's memory is of use.

    python benchmarks/query_cost.py                  conversations over documents, in sessions
    python benchmarks/query_cost.py --context        the same, with the context sent along instead

Each conversation of `tests/documents/follow_ups.yaml` is held once, question by question, over
the three documents beside it, as `POST /query` does it. Overhead is what rewriting and memory take
(issue 6: at most 20 ms, median); retrieval is apart. `--json` prints the figures alone.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from common import DOCUMENTS, add_documents, options, ranks, show, spent

from kds.brain.clock import utc_now
from kds.brain.workspace import Workspace
from kds.query.metric import SessionHits, session_hits
from kds.query.query_service import QueryService
from kds.query.values import Query, QueryReply
from kds.testing.follow_ups import read_follow_ups
from kds.transit.history import Message

OVERHEAD: Final = ("session", "rewriting", "memory")
"""Stages that are no retrieval: reading the session, resolving and classifying, remembering."""


def main() -> int:
    """Hold the conversations and print what they cost."""
    parser = options(__doc__, "--json")
    parser.add_argument("--context", action="store_true", help="send contexts, keep no sessions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Workspace.find(environ={"KDS_HOME": folder})
        add_documents(place)
        with QueryService.open(place) as service:
            figures = measure(service, sessions=not given.context)
    show(figures, as_json=given.json)
    return 0


def measure(service: QueryService, *, sessions: bool) -> dict[str, Any]:
    """Hold every conversation; the first question of all only warms up."""
    service.ask(Query("What is this about?", context=()))
    replies: list[QueryReply] = []
    times: list[tuple[float, float]] = []
    began = utc_now()
    for talk in read_follow_ups(DOCUMENTS / "follow_ups.yaml"):
        said: list[Message] = []
        for turn in talk.turns:
            known = {"session": talk.id} if sessions else {"context": tuple(said)}
            query = Query(turn.user, **known)  # type: ignore[arg-type]  # each is of its field
            times.append(spent(lambda query=query: replies.append(service.ask(query))))  # type: ignore[misc]
            said.append(Message("user", turn.user))
    store = service.memory.store if sessions else None
    rows = store.metrics.since(began - timedelta(minutes=1)) if store else ()
    return _figures(replies, times, session_hits(rows))


def _figures(
    replies: Sequence[QueryReply], times: Sequence[tuple[float, float]], hits: SessionHits
) -> dict[str, Any]:
    stages = [one.timings_ms for one in replies]
    return {
        "questions": len(replies),
        "overhead_ms": ranks([_overhead(one) for one in stages], 50, 95),
        "retrieval_ms": ranks([one["retrieval"] for one in stages], 50, 95),
        "turn_wall_ms": ranks([wall for _, wall in times], 50, 95),
        "turn_cpu_ms": ranks([cpu for cpu, _ in times], 50, 95),
        **{f"{name}_ms": ranks([one[name] for one in stages], 50, 95) for name in OVERHEAD},
        "session_memory_hit_rate": hits.hit_rate and round(hits.hit_rate, 3),
        "later_turns": hits.later_turns,
    }


def _overhead(timings: Mapping[str, float]) -> float:
    return sum(timings[stage] for stage in OVERHEAD)


if __name__ == "__main__":
    sys.exit(main())
