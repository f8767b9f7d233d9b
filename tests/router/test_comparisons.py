"""Comparisons of what two questions asked for."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["What is the fee for lockers?", "And for bikes?", "Which is higher?"],
            "Which is higher, the fee for lockers or the fee for bikes?",
        ),
        (
            ["How long does the pump run at night?", "And at noon?", "So which is longer?"],
            "How long does the pump run at night or noon, and which is longer?",
        ),
        (
            ["When must the filter be cleaned?", "And the tank?", "Which comes first?"],
            "Which comes first, the filter or the tank?",
        ),
        (
            ["How long is the trial for editors?", "Thanks", "And for admins?", "Whose is longer?"],
            "Whose is longer, the trial for editors or the trial for admins?",
        ),
        (
            ["What is the fee for lockers?", "Is that more than for bikes?"],
            "Is the fee for lockers more than for bikes?",
        ),
        (
            ["How much can I spend in Rome?", "Is that less than in Oslo?"],
            "How much can I spend in Rome, and is that less than in Oslo?",
        ),
    ],
)
def test_the_quantity_is_compared_and_not_the_things_it_belongs_to(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["What is the fee for lockers?", "Which is cheaper, Basic or Pro?"],
        ["What is the fee for lockers?", "Which is higher?"],
        ["Who runs the pool?", "Where is the gym?", "Which is higher?"],
        ["Which is higher?"],
    ],
    ids=lambda messages: messages[-1],
)
def test_without_two_like_questions_nothing_is_compared(
    rewrite: Rewrite, messages: list[str]
) -> None:
    assert "fee for lockers or" not in rewrite(*messages)
