import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import Problem
from kds.router import pattern
from kds.router.pattern import Pattern

from ..effort import bounded


def compiled(source: str, *, exact: bool = False) -> Pattern:
    made = Pattern.compile(source, where="f.md:3", exact=exact)
    assert isinstance(made, Pattern)
    return made


def test_a_regex_that_fills_the_memory_is_refused_before_it_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regex.compile", None)
    for source, said in (
        ("a{1000000000}", "repeats too much"), ("(?:a{9999}){9999}", "repeats too much"),
        ("(?:[)]{99}(?:x{9,}y{9}){99}){99}", "repeats too much"),
        ("(?x)(?: # )\n a{9999} ){9999}", "repeats too much"),
        (r"\[(?:(?:\w{99}){99}){99}", "repeats too much"), ("a" * 4_001, "4001 characters"),
    ):  # fmt: skip
        made = Pattern.compile(source, where="f.md:3")
        assert isinstance(made, Problem)
        assert said in made.message


def test_an_exact_regex_must_match_the_whole_message() -> None:
    pattern = compiled(r"where was i|status", exact=True)
    assert (bool(pattern.search(" Where was I?! ")), pattern.search("status of x")) == (True, None)


def test_literals_match_whole_words_and_an_exact_one_the_whole_message() -> None:
    for literal, text in (
        ("where was i", "So,  WHERE was\tI?"), ("rate", "the rate."), ("don't", "I don’t know"),
        ("c++", "in C++ please"), ("#fff", "make it #fff"),
    ):  # fmt: skip
        assert Pattern.literal(literal, where="x").search(text)
    assert Pattern.literal("rate", where="x").search("generate it") is None
    exact = Pattern.literal("continue", where="x", exact=True)
    assert all(map(exact.search, ("Continue", " continue... ")))
    assert not any(map(exact.search, ("continue please", "...")))


def test_a_pattern_is_not_compiled_for_a_message_that_has_none_of_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rare = Pattern.compile(r"^(?:never|no)?\s*(?:seen|heard) befores?\b", where="x", checked=True)
    assert isinstance(rare, Pattern)
    with monkeypatch.context() as broken:
        broken.setattr("regex.compile", None)
        assert rare.search("Make it purple") is None
    assert rare.search("Seen before")


ATOMS = ["abc", "ab", "c", "d ", r"\b", r"\w", r"\.", ".", "[abc]", "[^]d]", "^", "$", "k"]
ATOMS += ["(?=ab)", "(?!abc)", "(?<=c)", "(?P<n>abc)", "(abc|d)", "(?:abc|bcd)", "(?i:abc)"]
TIMES = st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{0,1}", "+?", "{,2}"])
EXPRESSIONS = st.recursive(
    st.builds(str.__add__, st.sampled_from(ATOMS), TIMES),
    lambda inner: st.builds(
        lambda join, parts, times: f"(?:{join.join(parts)}){times}",
        st.sampled_from(["", "|"]),
        st.lists(inner, min_size=1, max_size=4),
        TIMES,
    ),
    max_leaves=10,
)


@given(EXPRESSIONS, st.text("abcdABCD .k\u212a", max_size=12))
def test_a_pattern_finds_what_its_regex_finds(expression: str, text: str) -> None:
    try:
        plain = regex.compile(expression, regex.IGNORECASE)
    except regex.error:
        return
    found = Pattern("x", "x", False, expression).search(text)
    assert (found and found.span()) == ((other := plain.search(text)) and other.span())


@pytest.mark.parametrize("source", [r"a.*a.*a.*a.*a.*a.*a.*z$", r"(a+)+$", r"(\w+\s?)*$"])
def test_a_search_that_runs_out_of_time_is_not_a_match_and_says_so(source: str) -> None:
    slow, notes = compiled(source), list[str]()
    with bounded():
        assert slow.search("a" * 2000 + "!", notes=notes) is None
    assert notes == ["pattern at f.md:3 ran out of time and was left out"]


class Endless:
    """An expression that always runs out of time, and notes how much it was given."""

    def __init__(self) -> None:
        self.given: list[float] = []

    def search(self, text: str, *, timeout: float) -> None:
        self.given.append(timeout)
        raise TimeoutError


def test_the_searches_of_one_turn_share_what_running_out_of_time_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endless, slow = Endless(), compiled(r"\w*[@x]")
    monkeypatch.setattr(pattern, "_compiled", lambda _: endless)
    with pattern.one_turn():
        for _ in range(1000):
            assert slow.search("hello") is None
    assert sum(endless.given) < 2 * pattern.TURN_LIMIT_S + 0.1
    with pattern.one_turn():
        slow.search("the next turn has all of it again")
    assert endless.given[-1] == pattern.SEARCH_LIMIT_S
