"""That, who does and then: what a question says is done."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]


@pytest.mark.parametrize(
    ("before", "message", "expected"),
    [
        (
            "Can I transfer my ticket?",
            "Does that cost anything?",
            "Does transferring my ticket cost anything?",
        ),
        (
            "How do we restart the service?",
            "How long does it take?",
            "How long does restarting the service take?",
        ),
        (
            "How do we restart the service?",
            "Who has to approve that?",
            "Who has to approve restarting the service?",
        ),
        ("How do we do a rollback?", "Does this need approval?", "Does a rollback need approval?"),
        (
            "Does the seller insure the goods?",
            "If not, who does?",
            "If not, who insures the goods?",
        ),
        (
            "When does the semester start?",
            "Is the library open then?",
            "Is the library open when the semester starts?",
        ),
        (
            "When is a claim considered late?",
            "Is interest due then?",
            "Is interest due when a claim is considered late?",
        ),
    ],
)
def test_small_words_stand_for_what_is_done(
    rewrite: Rewrite, before: str, message: str, expected: str
) -> None:
    assert rewrite(before, message) == expected


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("How do we restart the service?", "Does that port need approval?"),
        ("Where is the reception?", "Is parking free then?"),
        ("Add a banner", "Who does?"),
    ],
)
def test_other_messages_stay(rewrite: Rewrite, before: str, message: str) -> None:
    assert rewrite(before, message) == message
