"""What a sentence is out for."""

import pytest

from kds.router.discourse.mentions import mentions_in
from kds.router.discourse.purport import is_of_deed, is_request, judged, puts_right
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
    ("text", "deed"),
    [
        ("the cart should remember its items", True),
        ("editors need to approve every post", True),
        ("let users export the list", True),
        ("the header should have a logo", False),
        ("the button should be blue", False),
        ("we should add a footer", False),
        ("make the button blue", False),
    ],
)
def test_a_message_may_be_out_for_a_deed(language: Language, text: str, deed: bool) -> None:
    assert is_of_deed(language.analyse(text)) is deed


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("i meant the cookie", True),
        ("no, teal instead of red", True),
        ("what does this error mean", False),
        ("no problem", False),
    ],
)
def test_a_correction_puts_a_value_right(language: Language, text: str, corrected: bool) -> None:
    assert puts_right(language.analyse(text)) is corrected


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


def test_a_sentence_in_words_that_no_lexicon_has_is_not_a_thing(language: Language) -> None:
    assert mentions_in(language.analyse("füge einen Knopf hinzu"), 0) == ()
    named = mentions_in(language.analyse("add fastify swagger"), 0)
    assert [mention.text for mention in named] == ["fastify swagger"]
