import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.intent_features import MAX_CHARS, Block, FeatureSpace, readable, word_terms

TEXTS = (
    "I want to add a search bar",
    "Make it purple",
    "make it purple, make it purple!",
    "Run the tests & commit   the changes?",
    "Ça marche? naïve café \u2014 日本語のテキスト",
    "a",
    "rename get_user() to fetch_user() in api/users.py",
)
UNSEEN = ("Make the tests purple", "zzz qqq", "run\tit\n\nnow", "", "a a a a")


@pytest.mark.parametrize("analyzer", ["words", "chars"])
def test_features_equal_those_of_scikit_learn(analyzer: str) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if analyzer == "words":
        theirs = TfidfVectorizer(analyzer=word_terms, sublinear_tf=True)
    else:
        theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    theirs.fit(TEXTS)
    ours = Block.fit(analyzer, TEXTS)
    assert ours.vocabulary == theirs.vocabulary_
    for text in (*TEXTS, *UNSEEN):
        vector = ours.vector(text)
        dense = np.zeros(len(ours.vocabulary))
        dense[vector.ids] = vector.values
        np.testing.assert_allclose(dense, theirs.transform([text]).toarray()[0], atol=1e-9)


@given(st.text(max_size=200))
def test_any_text_has_a_vector_of_length_one_or_zero(text: str) -> None:
    vector = FeatureSpace.fit(TEXTS).vector(text)
    length = float(np.sqrt(vector.values @ vector.values))
    assert np.isfinite(length)
    assert length <= 1.0 + 1e-9
    assert 0.0 <= vector.unknown <= 1.0
    assert len(set(vector.ids.tolist())) == len(vector.ids)


def test_unknown_counts_the_words_that_no_example_has() -> None:
    space = FeatureSpace.fit(TEXTS)
    assert space.vector("make it purple").unknown == 0.0
    assert space.vector("quux it purple").unknown == pytest.approx(1 / 3)
    assert space.vector("").unknown == 1.0


def test_a_long_text_is_read_at_its_start_and_its_end() -> None:
    text = "first words " + "x" * 100_000 + " last words"
    shown = readable(text)
    assert len(shown) <= MAX_CHARS + 1
    assert shown.startswith("first words")
    assert shown.endswith("last words")


def test_code_blocks_are_left_out_unless_they_are_all_there_is() -> None:
    assert "class" not in readable("fix this\n```python\nclass A: ...\n```")
    assert "class" in readable("```python\nclass A: ...\n```")
