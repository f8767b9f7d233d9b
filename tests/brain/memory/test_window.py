"""The window: the last turns verbatim, the question, and never a token too many."""

from hypothesis import given
from hypothesis import strategies as st

from kds.brain.memory.shortening import REPLY_CHARS, shorten
from kds.brain.memory.window import Budget, Window, lay_out
from kds.brain.passages.values import Role
from kds.brain.words.terms import estimate_tokens

from ..spoken import Pairs, spoken

ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")


def window(
    pairs: Pairs,
    query: str = "",
    *,
    summary: str = "",
    budget: Budget | None = None,
    turns: int = 4,
) -> Window:
    layout = lay_out(
        spoken(pairs), query, count=estimate_tokens, budget=budget or Budget(), turns=turns
    )
    return layout.with_summary(summary, estimate_tokens)


def talk(turns: int) -> list[tuple[Role, str]]:
    said: list[tuple[Role, str]] = []
    for turn in range(1, turns + 1):
        said += [("user", f"question {turn}"), ("assistant", f"answer {turn}")]
    return said


def test_the_last_four_turns_go_verbatim_and_the_question_last() -> None:
    sent = window(talk(9), "next?").messages
    assert [message.content for message in sent] == [
        *(text for turn in range(6, 10) for text in (f"question {turn}", f"answer {turn}")),
        "next?",
    ]
    assert sent[0].seq == 11
    assert sent[-1].seq is None


def test_replies_are_shortened_and_questions_are_not() -> None:
    long = "word " * 200
    sent = window([("user", long), ("assistant", long)]).messages
    assert sent[0].content == long
    assert len(sent[1].content) <= REPLY_CHARS
    assert [message.cut for message in sent] == [False, True]


def test_code_of_a_long_reply_is_a_mark_that_is_never_cut() -> None:
    long_code = "```python\n" + "x = 1\n" * 200 + "```\n"
    short = "Here:\n[code: python, 200 lines]\nIt is done."
    assert shorten(f"Here:\n{long_code}It is done.") == short
    assert "[code" not in shorten("a" * 480 + f" {long_code}" + "x" * 100)


def test_a_long_question_takes_its_room_from_the_others() -> None:
    found = window(talk(9), "word " * 900, summary="long " * 150)
    assert not found.messages[-1].cut
    assert found.tokens.query == 900
    assert found.tokens.total <= 1100
    assert found.notes == ("no room for the summary",)


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(ROLES),
        st.one_of(st.text(max_size=300), st.integers(1, 3000).map(lambda n: "some words " * n)),
    ),
    max_size=12,
)
BUDGETS = st.builds(Budget, st.integers(0, 300), st.integers(0, 900), st.integers(0, 150))


@given(MESSAGES, st.one_of(st.text(), st.integers(0, 900).map("why ".__mul__)), st.text(), BUDGETS)
def test_no_window_is_over_budget_and_no_message_is_lost(
    pairs: list[tuple[Role, str]], query: str, summary: str, budget: Budget
) -> None:
    found = window(pairs, query, summary=summary, budget=budget)
    assert found.tokens.total == sum(estimate_tokens(one.content) for one in found.messages)
    assert found.tokens.total <= budget.total
    seqs = [one.seq for one in found.messages if one.seq is not None]
    assert seqs == list(range(found.first_seq, len(pairs) + 1))
