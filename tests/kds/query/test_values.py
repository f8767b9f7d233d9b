"""The values of a query: their JSON, and citations out of passages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kds.query.values import Chunk, QueryReply, SessionTurn, citations_of


def chunk(citation: str) -> Chunk:
    return Chunk("text", 1.0, 1.0, citation, document="Agreement", section="1 Fees", page=2)


@given(st.lists(st.sampled_from("abc"), max_size=9))
def test_every_passage_has_its_number_in_exactly_one_citation(places: list[str]) -> None:
    found = citations_of(tuple(map(chunk, places)))
    assert [one.citation for one in found] == list(dict.fromkeys(places))
    numbers = sorted(number for one in found for number in one.chunks)
    assert numbers == list(range(1, len(places) + 1))
    for one in found:
        assert all(places[number - 1] == one.citation for number in one.chunks)


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
