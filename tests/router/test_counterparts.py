"""Mine, and the other one."""

from collections.abc import Callable

Rewrite = Callable[..., str]


def test_mine_is_my_thing_of_that_kind(rewrite: Rewrite) -> None:
    assert (
        rewrite("When does a night shift begin?", "Can I swap mine?")
        == "Can I swap my night shift?"
    )


def test_a_thing_that_becomes_mine_stays(rewrite: Rewrite) -> None:
    message = "When does the chair become mine?"
    assert rewrite("When is the office closed?", message) == message


def test_the_other_one_is_the_earlier_of_two_of_a_kind(rewrite: Rewrite) -> None:
    asked = ("How much is the Exit Fee?", "How much is the Entry Fee?")
    assert rewrite(*asked, "Is that more than the other one?") == (
        "Is the Entry Fee more than the Exit Fee?"
    )
    assert rewrite(*asked, "Who pays the other one?") == "Who pays the Exit Fee?"
