"""Questions taken apart."""

from collections.abc import Callable

import pytest

from kds.router.discourse.inquiry import last_question
from kds.router.discourse.question import Question
from kds.router.references.resolver import Resolver


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
def test_what_asks_nothing_is_not_a_question(
    asked: Callable[[str], Question | None], text: str
) -> None:
    assert asked(text) is None
