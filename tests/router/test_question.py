"""Questions taken apart, and asked again with another part."""

from collections.abc import Callable

import pytest

from kds.router.inquiry import last_question
from kds.router.question import Question
from kds.router.resolver import Resolver

Rewrite = Callable[..., str]


@pytest.fixture
def asked(resolver: Resolver) -> Callable[[str], Question | None]:
    return lambda text: last_question(resolver.replay((text,)))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("By when must the bank send a form?", ("By when", "the bank", "send a form")),
        ("Does the plan cover hail?", ("", "the plan", "cover hail")),
        ("Who signs the form?", ("Who", "", "signs the form")),
        ("How long is the trial for editors?", ("How long", "the trial for editors", "")),
        ("When is an invoice due?", ("When", "an invoice", "due")),
        ("If it rains, where do we meet?", ("where", "we", "meet")),
        ("Thanks! So can guests park here?", ("", "guests", "park here")),
        ("Who has to paint the walls?", ("Who", "", "has to paint the walls")),
        ("Do you know whether guests can park?", ("", "guests", "park")),
    ],
)
def test_a_question_has_a_wh_phrase_a_subject_and_a_predicate(
    asked: Callable[[str], Question | None], text: str, parts: tuple[str, str, str]
) -> None:
    question = asked(text)
    assert question is not None
    assert (question.span(question.wh), question.subject_text, question.said) == parts


@pytest.mark.parametrize("text", ["Add a banner", "Thanks", "The build fails", "and the roof", ""])
def test_what_asks_nothing_is_no_question(
    asked: Callable[[str], Question | None], text: str
) -> None:
    assert asked(text) is None


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["How much notice must the Tenant give?", "and the landlord"],
            "How much notice must the landlord give?",
        ),
        (["How many books can I borrow?", "And staff?"], "How many books can staff borrow?"),
        (
            ["Does the guest pay for parking?", "What about employees?"],
            "Do employees pay for parking?",
        ),
        (
            ["Who approves exceptions?", "And for directors?"],
            "Who approves exceptions for directors?",
        ),
        (
            ["What if an audit falls on a holiday?", "What about an inspection - same rule?"],
            "What if an inspection falls on a holiday?",
        ),
        (
            ["Does the fund pay for glasses?", "Same question for dental care please."],
            "Does the fund pay for dental care?",
        ),
        (
            ["When is the pool open on weekdays?", "At weekends?"],
            "When is the pool open at weekends?",
        ),
        (["How much is a large locker?", "And a small one?"], "How much is a small locker?"),
        (
            ["When must the belt be replaced?", "And the brake fluid?", "the spark plugs?"],
            "When must the spark plugs be replaced?",
        ),
        (
            ["Can I fly business on trips over six hours?", "And on shorter trips?"],
            "Can I fly business on shorter trips?",
        ),
        (["Where is the ward?", "Thanks!", "And the lab?"], "Where is the lab?"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_a_fragment_takes_the_place_of_what_is_like_it(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["What other rooms are there?", "What about quiet rooms?"],
        ["What forms do I need to open an account?", "And where is the branch?"],
        ["What forms do I need to open an account?", "What about the hours of the branch?"],
    ],
    ids=lambda messages: messages[-1],
)
def test_a_fragment_that_is_like_nothing_stays(rewrite: Rewrite, messages: list[str]) -> None:
    assert rewrite(*messages) == messages[-1]
