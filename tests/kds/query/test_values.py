"""The values of a query: their JSON, and citations out of passages."""

import json

from kds.query.values import Chunk, QueryReply, SessionTurn, citations_of


def chunk(citation: str) -> Chunk:
    return Chunk("text", 1.0, 1.0, citation, document="Agreement", section="1 Fees", page=2)


def test_a_reply_is_json_with_every_key_whatever_it_holds() -> None:
    empty = QueryReply("q", "q").as_dict()
    full = QueryReply(
        "q", "q", chunks=(chunk("a"),), citations=citations_of((chunk("a"),)), answer="x",
        session=SessionTurn("s", 1, ("fee",), hit=True), timings_ms={"total": 1.23456},
        warnings=("careful",),
    ).as_dict()  # fmt: skip
    assert set(empty) == set(full)
    assert json.loads(json.dumps(full)) == full
    assert full["timings_ms"] == {"total": 1.235}
