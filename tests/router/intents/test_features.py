import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.intents.features import (
    MANY_TEXTS,
    MAX_CHARS,
    RARITY_POWER,
    Block,
    FeatureSpace,
    readable,
)
from kds.router.intents.terms import KINDS, MAX_PAIRED, pieces, stems, terms

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


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_features_equal_those_of_scikit_learn(kind: str) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if kind == "words":
        theirs = TfidfVectorizer(analyzer=stems, sublinear_tf=True)
    else:
        theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    theirs.fit(TEXTS)
    theirs.idf_ = theirs.idf_**RARITY_POWER
    ours = Block.fit(kind, [terms(text)[kind] for text in TEXTS])
    assert ours.vocabulary == theirs.vocabulary_
    for text in (*TEXTS, *UNSEEN):
        ids, values, _ = ours.vectors([terms(text)[kind]])
        dense = np.zeros(len(ours.vocabulary))
        dense[ids] = values
        np.testing.assert_allclose(dense, theirs.transform([text]).toarray()[0], atol=1e-9)


@given(st.text(max_size=200))
def test_any_text_has_a_vector_of_length_one_or_less(text: str) -> None:
    vector = FeatureSpace.fit(list(map(terms, TEXTS))).vector(text)
    length = float(np.sqrt(vector.values @ vector.values))
    assert np.isfinite(length)
    assert length <= 1.0 + 1e-9
    assert 0.0 <= vector.unknown <= 1.0
    assert 0.0 <= vector.covered <= 1.0
    assert len(set(vector.ids.tolist())) == len(vector.ids)


def test_a_text_that_was_learned_has_a_vector_of_length_one() -> None:
    vector = FeatureSpace.fit(list(map(terms, TEXTS))).vector("I want to add a search bar")
    assert float(vector.values @ vector.values) == pytest.approx(1.0)


def test_unknown_counts_the_words_that_no_example_has() -> None:
    space = FeatureSpace.fit(list(map(terms, TEXTS)))
    assert space.vector("make it purple").unknown == 0.0
    assert space.vector("quux it purple").unknown == pytest.approx(1 / 3)
    assert space.vector("").unknown == 1.0


def test_a_rare_unknown_word_weighs_more_than_a_common_known_one() -> None:
    space = FeatureSpace.fit(list(map(terms, TEXTS)))
    assert space.vector("make it purple").covered == 1.0
    assert space.vector("make quux").covered < 0.5
    assert space.vector("").covered == 0.0


def test_short_forms_are_written_out_and_numbers_are_alike() -> None:
    assert stems("What's due in 14 days?") == stems("what is due in 30 days?")


def test_words_for_the_same_thing_share_a_concept() -> None:
    assert terms("purchase")["concepts"].keys() & terms("buying")["concepts"].keys()
    assert not terms("zebra")["concepts"]


def test_pairs_do_not_grow_with_the_text_for_ever() -> None:
    text = " ".join(f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300))
    assert len(terms(text)["pairs"]) == MAX_PAIRED * (MAX_PAIRED - 1) // 2


def test_with_many_texts_terms_that_only_one_has_are_left_out_but_for_words() -> None:
    counts = [{"word": 1, f"only{number}": 1} for number in range(MANY_TEXTS)]
    assert len(Block.fit("pairs", counts).vocabulary) == 1
    assert len(Block.fit("words", counts).vocabulary) == MANY_TEXTS + 1


@given(st.text(max_size=100))
def test_every_kind_of_term_is_counted(text: str) -> None:
    found = terms(text)
    assert tuple(found) == KINDS
    assert all(count >= 1 for counts in found.values() for count in counts.values())
    assert found["pieces"].keys() == set(pieces(text))


def test_a_long_text_is_read_at_its_start_and_its_end() -> None:
    text = "first words " + "x" * 100_000 + " last words"
    shown = readable(text)
    assert len(shown) <= MAX_CHARS + 1
    assert shown.startswith("first words")
    assert shown.endswith("last words")


def test_code_blocks_are_left_out_unless_they_are_all_there_is() -> None:
    assert "class" not in readable("fix this\n```python\nclass A: ...\n```")
    assert "class" in readable("```python\nclass A: ...\n```")
