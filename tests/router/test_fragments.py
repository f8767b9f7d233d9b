"""Messages that lean on the sentence before: what about X, no, X, the same for X, and X to 3."""

from collections.abc import Callable

import pytest

from kds.router.resolver import Resolution

BUG = pytest.mark.xfail

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["How do I deploy to staging?", "What about production?"],
            "How do I deploy to production?",
        ),
        (["Does Safari support grid?", "And Firefox?"], "Does Firefox support grid?"),
        (["Who approved the budget?", "What about the roadmap?"], "Who approved the roadmap?"),
        (["Run the suite on Linux", "And on macOS?"], "Run the suite on macOS"),
        (
            ["Is the progress bar accessible?", "What about the date picker?"],
            "Is the date picker accessible?",
        ),
        pytest.param(
            ["Is the progress bar accessible?", "And the email worker?"],
            "Is the email worker accessible?",
            marks=BUG(reason="the predicate is swallowed with the slot: 'Is the email worker?'"),
        ),
    ],
)
def test_a_question_is_asked_again_about_something_else(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["How do I deploy to staging?", "And what is a canary?"],
        ["How do I deploy to staging?", "And run the linter"],
        ["How do I deploy to staging?", "But why?"],
        ["Hello", "What about lunch?"],
        ["What about lunch?"],
    ],
    ids=lambda messages: messages[-1],
)
def test_a_question_of_its_own_stays(rewrite: Rewrite, messages: list[str]) -> None:
    assert rewrite(*messages) == messages[-1]


@pytest.mark.parametrize(
    "message", ["What about the others?", "And the rest?", "No, the other", "Same for the others"]
)
def test_what_names_nothing_is_no_fragment(rewrite: Rewrite, message: str) -> None:
    assert rewrite("Can you paint the tab bar green?", message) == message


@BUG(reason="only and just are taken into the phrase: 'Make the only the header sticky'")
@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("Actually only the header", "Make only the header sticky"),
        ("No, just the menu", "Make just the menu sticky"),
    ],
)
def test_a_correction_may_narrow_things_down(rewrite: Rewrite, message: str, written: str) -> None:
    assert rewrite("Make the tab bar sticky", message) == written


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (["Paint the tab bar green", "No, blue"], "Paint the tab bar blue"),
        (["Book the demo for Monday", "Sorry, Tuesday"], "Book the demo for Tuesday"),
        (["Book the demo for Monday", "Not Monday, Friday"], "Book the demo for Friday"),
        (["Set the margin to 8px", "No, 12px"], "Set the margin to 12px"),
        (["Set the margin to 8px", "Make that 12px"], "Set the margin to 12px"),
        (["Email the plan to Nadia", "I mean Omar"], "Email the plan to Omar"),
        (["Format the date as ISO", "No, as RFC"], "Format the date as RFC"),
        (["Paint the tab bar green", "No blue"], "Paint the tab bar blue"),
        (["Deploy the API to staging", "Sorry production"], "Deploy the API to production"),
    ],
)
def test_a_correction_repeats_the_command_with_the_other_value(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "message",
    [
        "No, that's wrong",
        "No, go on",
        "No, thanks",
        "Actually, never mind",
        "Wait, what?",
        "No problem",
        "No tests yet",
        "No dashboard for now",
        "Sorry, my mistake",
        "Sorry, one question",
    ],
)
def test_a_no_that_names_no_other_value_stays(rewrite: Rewrite, message: str) -> None:
    assert rewrite("Paint the tab bar green", message) == message


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["Add a retry to the mail worker", "Do the same for the sms worker"],
            "Add a retry to the sms worker",
        ),
        (
            ["Add a retry to the mail worker", "Same for the sms worker"],
            "Add a retry to the sms worker",
        ),
        (["Write a post about caching", "Same for logging"], "Write a post about logging"),
        (["Restart the web server", "Do the same with the database"], "Restart the database"),
        (["Restart the web server", "Likewise for the database"], "Restart the database"),
        (["Rename fetchUser to loadUser", "Same for fetchOrder"], "Rename fetchOrder to loadOrder"),
        (["Add a retry to the mail worker", "The sms worker too"], "Add a retry to the sms worker"),
        (
            ["Run the linter on the backend", "Do the same for the frontend"],
            "Run the linter on the frontend",
        ),
    ],
)
def test_the_same_is_done_to_something_else(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@BUG(reason="a complaint in front of the command is repeated, the value is lost")
def test_only_the_command_is_repeated(rewrite: Rewrite) -> None:
    messages = ["Set the margin to 8px", "That's too much, make it 4px", "Same for the padding"]
    assert rewrite(*messages) in {"Make the padding 4px", messages[-1]}


@pytest.mark.parametrize("message", ["Use the same color", "And run the linter", "Me too"])
def test_same_and_too_without_a_thing_to_do_it_to_stay(rewrite: Rewrite, message: str) -> None:
    assert rewrite("Add a retry to the mail worker", message) == message


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["Set the crawler memory to 2 GB", "and the indexer memory to 4 GB"],
            "and set the indexer memory to 4 GB",
        ),
        (
            ["Move the logo to the left", "and the menu to the right"],
            "and move the menu to the right",
        ),
    ],
)
def test_the_verb_left_out_comes_from_the_command_before(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


def test_the_verb_left_out_must_take_such_an_object(rewrite: Rewrite) -> None:
    messages = ["Change the heading font to Lora", "Use Georgia instead", "And the text to Inter"]
    assert "use the text to" not in rewrite(*messages).lower()


@pytest.mark.parametrize(
    "messages",
    [
        ["Set the crawler memory to 2 GB", "and restart the indexer"],
        ["Set the crawler memory to 2 GB", "and also check the logs"],
        ["Who owns the crawler?", "and the indexer to 4 GB"],
    ],
    ids=lambda messages: messages[-1],
)
def test_a_message_with_its_own_verb_or_without_a_command_before_stays(
    rewrite: Rewrite, messages: list[str]
) -> None:
    assert rewrite(*messages) == messages[-1]


def test_a_whole_message_reference_names_the_fragment(resolve: Callable[..., Resolution]) -> None:
    found = resolve("Paint the tab bar green", "No, blue").references
    assert [(reference.text, reference.target) for reference in found] == [("blue", "blue")]


def test_a_rule_of_ones_own_brings_its_cue(rewrite_by: By) -> None:
    rewrite = rewrite_by('signal: {kind: repeat, cues: ["^ditto for\\\\s+"]}')
    assert rewrite("Restart the web server", "Ditto for the database") == "Restart the database"
    assert rewrite("Restart the web server", "Same for the database") == "Same for the database"


def test_a_correction_cue_may_name_what_is_replaced(rewrite_by: By) -> None:
    rewrite = rewrite_by(
        'signal: {kind: correction, cues: ["^swap out (?P<old>\\\\w+) for\\\\s+"]}'
    )
    assert rewrite("Paint the tab green", "Swap out green for teal") == "Paint the tab teal"
