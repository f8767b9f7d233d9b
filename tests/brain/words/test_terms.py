"""Stems are those of the index, spellings of a name find each other, tokens are counted."""

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.words.terms import (
    estimate_tokens,
    forms_of,
    ident_words,
    joined,
    names_in,
    parts_of,
    stem,
)


def _index_stems(words: list[str]) -> list[str]:
    """What SQLite's own index makes of them."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    connection.execute("INSERT INTO t VALUES (?)", (" ".join(words),))
    stems = [row[0] for row in connection.execute("SELECT term FROM v ORDER BY offset")]
    connection.close()
    return stems


@given(st.lists(st.text("abcdeiloprstuvyz", min_size=1, max_size=14), min_size=1, max_size=20))
@example(["eed", "ies", "sses", "ayying"])
def test_stems_of_any_letters_are_those_of_the_index(words: list[str]) -> None:
    assert [stem(word) for word in words] == _index_stems(words)


@pytest.mark.parametrize(
    ("word", "form"), [("went", "go"), ("buy", "bought"), ("children", "child"), ("ran", "run")]
)
def test_forms_that_share_no_stem_find_each_other(word: str, form: str) -> None:
    assert form in forms_of(word)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("get_user_name", ("get", "user", "name")),
        ("GetUserName", ("get", "user", "name")),
        ("HTTPServerError", ("http", "server", "error")),
        ("parseHTML5Page", ("parse", "html", "5", "page")),
        ("os.path.join", ("os", "path", "join")),
        ("std::vector", ("std", "vector")),
        ("__init__", ("init",)),
        ("größeÄndern", ("größe", "ändern")),
        ("", ()),
    ],
)
def test_an_identifier_is_split_into_its_words(name: str, parts: tuple[str, ...]) -> None:
    assert parts_of(name) == parts


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=5))
def test_all_spellings_join_to_the_same(words: list[str]) -> None:
    snake = "_".join(words)
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    assert joined(snake) == joined(camel) == joined(snake.upper()) == "".join(words)
    assert joined(camel) in ident_words(f"{camel}()", code=True).split()


def test_prose_gives_only_what_can_be_nothing_else() -> None:
    text = "Call load_rows or loadRows via `fetch`, not open(). Use the API. See app.config here"
    names = ["load_rows", "loadRows", "fetch", "open", "app.config"]
    assert list(names_in(text, code=False)) == names


def test_common_words_are_a_token_each() -> None:
    assert estimate_tokens("Make the FAB button purple, please.") == 8
