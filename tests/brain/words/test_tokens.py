from hypothesis import given
from hypothesis import strategies as st

from kds.brain.words.tokens import estimate_tokens


def test_common_words_are_a_token_each() -> None:
    assert estimate_tokens("Make the FAB button purple, please.") == 8


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_not_fewer_tokens(first: str, second: str) -> None:
    assert estimate_tokens(first + " " + second) >= estimate_tokens(first)


@given(st.text(max_size=300))
def test_there_are_not_more_tokens_than_bytes(text: str) -> None:
    assert estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 1
    assert estimate_tokens(text) > 0 or not text.strip()
