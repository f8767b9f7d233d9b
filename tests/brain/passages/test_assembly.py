from hypothesis import given
from hypothesis import strategies as st
from spoken import passage

from kds.brain.passages.assembly import assemble
from kds.brain.passages.recall import Hit
from kds.brain.passages.rerank import Fused
from kds.brain.passages.values import ChunkKind
from kds.brain.words.tokens import estimate_tokens


def _hit(number: int, body: str, kind: ChunkKind = "prose") -> Hit:
    return Hit(passage(number, body, kind), 1.0, Fused(1.0, None, 1.0, 0.0), False, ())


HITS = st.lists(
    st.builds(
        _hit,
        st.integers(0, 9),
        st.text(max_size=200) | st.text("ab \n", max_size=2000),
        st.sampled_from(["prose", "code"]),
    ),
    max_size=8,
)


def test_texts_come_with_their_date_and_speaker() -> None:
    made = assemble("port", [_hit(1, "Port 8081."), _hit(2, "Behind the proxy.")])
    assert made.text == "[2025-11-03, Ann]\nPort 8081.\n\n[2025-11-03, Ann]\nBehind the proxy."
    assert made.notes == ()


def test_code_comes_first_for_a_question_about_code() -> None:
    hits = [_hit(1, "It reads."), _hit(2, "x = 1", "code")]
    assert assemble("show me parse_rows()", hits).used == (hits[1], hits[0])
    assert assemble("does it read?", hits).used == (hits[0], hits[1])


def test_what_does_not_fit_is_left_out_whole_and_said() -> None:
    hits = [_hit(1, "word " * 300), _hit(2, "Port 8081.")]
    made = assemble("port", hits, budget_tokens=50)
    assert made.used == (hits[1],)
    assert made.left_out == (hits[0],)
    assert made.notes == ("left out for 50 tokens: 1 passage of 300 tokens",)


def test_the_same_text_is_not_quoted_twice() -> None:
    assert len(assemble("port", [_hit(1, "Port 8081."), _hit(2, "Port 8081.")]).used) == 1


@given(HITS, st.integers(0, 300), st.text(max_size=30))
def test_the_budget_is_never_exceeded(hits: list[Hit], budget: int, query: str) -> None:
    made = assemble(query, hits, budget_tokens=budget)
    assert made.tokens == estimate_tokens(made.text) <= budget
    assert set(map(id, (*made.used, *made.left_out))) <= set(map(id, hits))
