import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.words.identifiers import ident_words, joined, joined_forms, names_in, parts_of


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", ("get", "user", "name")),
        ("get_user_name", ("get", "user", "name")),
        ("GetUserName", ("get", "user", "name")),
        ("GET_USER_NAME", ("get", "user", "name")),
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


def test_joined_forms_leave_out_what_has_no_words() -> None:
    assert joined_forms(["getUser", "get_user", "--", "x"]) == ("getuser", "x")
