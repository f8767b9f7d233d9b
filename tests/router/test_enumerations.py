"""Both, the former, the latter, which: references to things that stand side by side."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["Add a mute button and a skip button", "Enlarge both"],
            "Enlarge both the mute button and the skip button",
        ),
        (["Add a map", "Add a list", "Print both"], "Print both the map and the list"),
        (
            ["Add a map and a list", "Make both of them sticky"],
            "Make both the map and the list sticky",
        ),
    ],
)
def test_both_names_the_two_things(rewrite: Rewrite, messages: list[str], written: str) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["Add a map", "Print both"],
        ["Add a map and a list", "Make both tests pass"],
        ["Add a map and a list", "Install both Python and Go"],
    ],
    ids=lambda messages: messages[-1],
)
def test_both_without_two_things_or_with_its_own_stays(
    rewrite: Rewrite, messages: list[str]
) -> None:
    assert rewrite(*messages) == messages[-1]


@pytest.mark.parametrize(
    ("message", "written"),
    [("Go with the former", "Go with Kafka"), ("Go with the latter", "Go with RabbitMQ")],
)
def test_former_and_latter_pick_by_order(rewrite: Rewrite, message: str, written: str) -> None:
    assert rewrite("We can use Kafka or RabbitMQ", message) == written


@pytest.mark.xfail(reason="a pronoun and a direction count as a pair: 'Hide the right'")
def test_a_direction_is_no_alternative(rewrite: Rewrite) -> None:
    messages = ["Add a logout button", "and a profile link", "Align them to the right"]
    assert rewrite(*messages, "Hide the latter") in {"Hide the profile link", "Hide the latter"}


@pytest.mark.parametrize(
    "messages",
    [["Enable caching", "Disable the latter"], ["Add a map and a list", "Ask the former owner"]],
    ids=lambda messages: messages[-1],
)
def test_former_and_latter_without_a_pair_stay(rewrite: Rewrite, messages: list[str]) -> None:
    assert rewrite(*messages) == messages[-1]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (["Should we use Deno or Bun?", "Which one is faster?"], "Which is faster, Deno or Bun?"),
        (
            ["We have a map and a list", "So which loads first?"],
            "Which loads first, the map or the list?",
        ),
        (
            ["Is Rust or Go better for the agent?", "Which compiles faster?"],
            "Which compiles faster, Rust or Go?",
        ),
    ],
)
def test_which_is_asked_of_the_alternatives(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages).lower() == written.lower()


@pytest.mark.parametrize(
    "messages",
    [
        ["Add a map", "Which is faster?"],
        ["Should we use Deno or Bun?", "Which tests are slow?"],
        ["Should we use Deno or Bun?", "Which is faster, Node or Deno?"],
    ],
    ids=lambda messages: messages[-1],
)
def test_which_with_alternatives_of_its_own_or_none_stays(
    rewrite: Rewrite, messages: list[str]
) -> None:
    assert rewrite(*messages) == messages[-1]


def test_a_rule_of_ones_own_may_look_only_at_the_newest_message(rewrite_by: By) -> None:
    rewrite = rewrite_by("signal: {kind: both}, antecedent: {max_age: 0}")
    assert rewrite("Add a map and a list", "Print both") == "Print both the map and the list"
    assert rewrite("Add a map and a list", "Hello", "Print both") == "Print both"
