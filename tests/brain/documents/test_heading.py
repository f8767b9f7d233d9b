"""Headings taken apart, and the numbers of sections."""

import pytest

from kds.brain.documents.content import number_key, read_heading, referred_in


@pytest.mark.parametrize(
    ("text", "label", "number", "title"),
    [
        ("Section 4.02. Collections", "section", "4.02", "Collections"),
        ("ARTICLE II: CONVEYANCE", "article", "II", "CONVEYANCE"),
        ("ARTICLE II", "article", "II", ""),
        ("1.01 Definitions", "", "1.01", "Definitions"),
        ("2. Leave", "", "2", "Leave"),
        ("Appendix A - Forms", "appendix", "A", "Forms"),
        ("§ 9 Fees", "section", "9", "Fees"),
        ("Chapter 3: Pay", "chapter", "3", "Pay"),
        ("Part of the plan", "", "", "Part of the plan"),
        ("404 errors", "", "", "404 errors"),
        ("Rate limits", "", "", "Rate limits"),
    ],
)
def test_a_heading_is_taken_apart(text: str, label: str, number: str, title: str) -> None:
    found = read_heading(text, 1)
    assert (found.label, found.number, found.title) == (label, number, title)


def test_all_spellings_of_a_number_share_a_key() -> None:
    assert number_key("4.02") == number_key("4.2") == number_key("04.2.")
    assert number_key("II") == number_key("2")
    assert number_key("A.1") != number_key("A.10")


def test_a_definition_says_where_the_meaning_stands() -> None:
    text = '"Servicer Default" has the meaning set forth in Section 8.01.'
    assert referred_in(text) == ("section", "8.1")
    assert referred_in("The Seller pays on the first day of June.") == ("", "")
