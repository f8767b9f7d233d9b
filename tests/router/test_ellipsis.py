"""Questions that leave out what the question before said."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]


@pytest.mark.parametrize(
    ("before", "message", "written"),
    [
        ("Can I bring a dog?", "Since when?", "Since when can I bring a dog?"),
        ("How do I renew the permit?", "by when", "by when do I renew the permit?"),
        ("Who signs the form?", "And where?", "Who signs the form, and where?"),
        ("Is the lounge closed?", "why not?", "why is the lounge not closed?"),
        (
            "Could you tell me whether I can swap shifts?",
            "Why not?",
            "Why can I not swap shifts?",
        ),
        (
            "Does the plan cover implants?",
            "Why doesn't it?",
            "Why does the plan not cover implants?",
        ),
        (
            "If the lift is stuck, who comes?",
            "at what cost?",
            "If the lift is stuck, who comes, and at what cost?",
        ),
    ],
)
def test_a_bare_wh_phrase_asks_the_last_question_anew(
    rewrite: Rewrite, before: str, message: str, written: str
) -> None:
    assert rewrite(before, message) == written


@pytest.mark.parametrize(
    ("before", "message", "written"),
    [
        (
            "Must the agency return the keys?",
            "And if it doesn't?",
            "What happens if the agency doesn't return the keys?",
        ),
        ("May I sublet the flat?", "What if I do?", "What if I do sublet the flat?"),
        (
            "Does the guest have to sign the form?",
            "if not?",
            "what happens if the guest does not sign the form?",
        ),
        (
            "Who feeds the animals?",
            "and if the keeper is ill?",
            "who feeds the animals if the keeper is ill?",
        ),
        (
            "What does the nurse do if the form is missing?",
            "And if the patient refuses?",
            "What does the nurse do if the patient refuses?",
        ),
    ],
)
def test_a_bare_condition_belongs_to_the_last_question(
    rewrite: Rewrite, before: str, message: str, written: str
) -> None:
    assert rewrite(before, message).lower() == written.lower()


@pytest.mark.parametrize(
    ("before", "message", "written"),
    [
        (
            "How many hours may trainees work at night?",
            "Can they do that on Sundays?",
            "Can trainees work at night on Sundays?",
        ),
        (
            "Can the jury reject an entry?",
            "Who tells the author in that case?",
            "Who tells the author if the jury rejects an entry?",
        ),
        (
            "When may the tenant paint the walls?",
            "What is the fee for that?",
            "What is the fee for painting the walls?",
        ),
    ],
)
def test_that_is_what_was_asked_about(
    rewrite: Rewrite, before: str, message: str, written: str
) -> None:
    assert rewrite(before, message) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["Add a banner", "Why?"],
        ["Add a banner", "And if not?"],
        ["Why?"],
        ["Can I bring a dog?", "Why does the alarm ring?"],
        ["Can I bring a dog?", "If the alarm rings, who comes?"],
        ["Can I bring a dog?", "When and why did the rules change?"],
        ["Can I bring a dog?", "What if the alarm rings?"],
        ["Who is the caretaker?", "How do I do that?"],
        ["Can I bring a dog?", "What else?"],
        ["Can I bring a dog?", "ok"],
    ],
    ids=lambda messages: messages[-1],
)
def test_what_says_it_all_stays(rewrite: Rewrite, messages: list[str]) -> None:
    assert rewrite(*messages) == messages[-1]


def test_thanks_in_between_do_not_end_the_reach_of_a_question(rewrite: Rewrite) -> None:
    assert rewrite("Can I bring a dog?", "Thanks!", "How?") == "How can I bring a dog?"


def test_a_command_ends_the_reach_of_a_question(rewrite: Rewrite) -> None:
    assert rewrite("Can I bring a dog?", "Add a banner", "How?") == "How?"
