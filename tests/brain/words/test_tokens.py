from hypothesis import given
from hypothesis import strategies as st

from kds.brain.words.tokens import estimate_tokens


def test_common_words_are_a_token_each() -> None:
    assert estimate_tokens("Make the FAB button purple, please.") == 8


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_not_fewer_tokens(first: str, second: str) -> None:
    assert estimate_tokens(first + " " + second) >= estimate_tokens(first)
