"""What a sentence is out for."""

import pytest

from kds.router.discourse.mentions import is_request, judged, mentions_in
from kds.router.language.analysis import Language


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("can you add a footer", True),
        ("Could we also have a footer?", True),
        ("can you explain the footer", False),
        ("does the footer stick", False),
        ("add a footer", False),
    ],
)
def test_a_request_may_come_as_a_question(language: Language, text: str, asked: bool) -> None:
    analysis = language.analyse(text)
    assert any(is_request(analysis, clause) for clause in analysis.clauses) is asked


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("it is too slow", True),
        ("it is not red", True),
        ("it is wide enough", True),
        ("it is blue", False),
    ],
)
def test_a_judgement_finds_fault_with_its_subject(
    language: Language, text: str, fault: bool
) -> None:
    assert judged(language.analyse(text), 0) is fault


def test_what_is_new_was_brought_up_and_what_is_asked_about_was_not(language: Language) -> None:
    def brought_up(text: str) -> list[str]:
        return [m.text for m in mentions_in(language.analyse(text), 0) if m.brought_up]

    assert brought_up("we need a footer on the page") == ["footer"]
    assert brought_up("can you add an export button") == ["export button"]
    assert brought_up("do we have a footer") == []
    assert brought_up("move the footer") == []
