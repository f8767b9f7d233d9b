import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.intents.message_parts import MAX_PARTS, split_message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Add a menu and test it", ("Add a menu", "test it")),
        ("Continue and then run the checks", ("Continue", "run the checks")),
        ("continue and commit", ("continue", "commit")),
        ("Fix the header; push it", ("Fix the header", "push it")),
        ("Fix the header. Then push it.", ("Fix the header.", "Then push it.")),
        ("bump the version, run the tests and push", ("bump the version", "run the tests", "push")),
        (
            "Do this:\n- rename the class\n- run the tests",
            ("Do this:", "rename the class", "run the tests"),
        ),
        ("1. rename the class\n2. run the tests", ("rename the class", "run the tests")),
        ("deploy it, once that's done check the logs", ("deploy it", "check the logs")),
        ("Perfect. Commit this. Then deploy it", ("Commit this.", "Then deploy it")),
        (
            "Explain the cache and what happens on a miss",
            ("Explain the cache", "what happens on a miss"),
        ),
    ],
)
def test_a_message_is_cut_where_the_next_request_begins(text: str, parts: tuple[str, ...]) -> None:
    assert split_message(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between commit and push?",
        "lint and test the parser",
        "How do I build and test the project?",
        "Add drag and drop to the board",
        "find and replace the old name",
        "Add a table and a chart",
        "Add tests for login and logout",
        'Rename the label to "run and test it"',
        "call it `build; test`",
        "Use a slider (and test it on mobile)",
        "If the build fails, check the logs and rerun it",
        "Make it bold, red and large",
        "Set up a pipeline that lints and tests the code",
        "OK. What happens on a miss?",
        "Yes! Great!",
        "",
        "   ",
        "?!",
    ],
)
def test_a_single_request_stays_whole(text: str) -> None:
    assert split_message(text) == (text.strip(),)


def test_a_long_list_is_left_to_the_planner() -> None:
    text = "\n".join(f"- rename file {number}" for number in range(MAX_PARTS + 1))
    assert split_message(text) == (text,)


@given(st.text(alphabet="and then; test. add, it\n\"'(`", max_size=120))
def test_parts_are_pieces_of_the_message_in_order(text: str) -> None:
    at = 0
    for part in split_message(text):
        at = text.index(part, at) + len(part)


def test_a_clause_that_goes_on_in_the_third_person_is_not_a_request() -> None:
    message = "Write a job that reads the queue and then writes the totals"
    assert split_message(message) == (message,)


def test_a_plural_after_then_still_begins_a_request() -> None:
    assert split_message("Add the endpoint, then tests for it") == (
        "Add the endpoint",
        "tests for it",
    )
