"""Names that are known by their shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.language.shapes import shape, whole_token

from ...effort import bounded


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("lib/date_utils.rb", "path"),
        ("Makefile.am", "code"),
        ("./run.sh", "path"),
        (".gitignore", "path"),
        ("C:\\temp\\x", ""),
        ("/v2/users/{id}", "path"),
        ("https://kds.dev/a?b=c", "url"),
        ("ada@kds.dev", "email"),
        ("slugify()", "code"),
        ("max_retries", "code"),
        ("parseDate", "code"),
        ("HttpServer", "code"),
        ("os.path.join", "code"),
        ("<UserCard>", "code"),
        ("--dry-run", "flag"),
        ("--port=80", "flag"),
        ("-v", "flag"),
        ("#118", "issue"),
        ("KDS-7", "issue"),
        ("12px", "number"),
        ("$9.99", "number"),
        ("v1.4.0", "number"),
        ("85%", "number"),
    ],
)
def test_a_name_is_known_by_its_shape(text: str, kind: str) -> None:
    assert shape(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "button",
        "Button",
        "API",
        "drop-down",
        "don't",
        "I",
        "and/or",
        "n/a",
        "he/she",
        "?",
        "...",
        "",
    ],
)
def test_an_ordinary_word_has_no_shape(text: str) -> None:
    assert shape(text) == ""


@pytest.mark.parametrize("text", ["src/app.py", "getUser()", "--no-log", "drop-down", "#118"])
def test_names_and_hyphenated_words_stay_whole(text: str) -> None:
    assert whole_token(text)


@pytest.mark.parametrize("text", ["don't", "it's", "we’ll", "users'", "button", "and/or"])
def test_contractions_and_plain_words_are_left_to_the_tokenizer(text: str) -> None:
    assert not whole_token(text)


@given(st.text(max_size=300))
def test_any_text_has_a_shape_or_none(text: str) -> None:
    assert isinstance(shape(text), str)


def test_a_long_word_of_mixed_cases_is_read_at_once() -> None:
    """Base64 has runs of capitals and small letters in every order: nothing may try them all."""
    with bounded():
        shape("ABcD" * 2_000 + "!")
        shape("AbCd" * 2_000 + "_")
