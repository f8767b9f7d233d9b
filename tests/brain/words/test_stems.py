import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.words.stems import FORMS, forms_of, stem

WORDS = (
    "caresses ponies ties cats feed agreed plastered bled motoring sing conflated troubled sized "
    "hopping tanned falling hissing fizzed failing filing happy sky relational conditional "
    "rational valenci hesitanci digitizer conformabli radicalli differentli vileli analogousli "
    "vietnamization predication operator feudalism decisiveness hopefulness callousness formaliti "
    "sensitiviti sensibiliti triplicate formative formalize electriciti electrical hopeful "
    "goodness revival allowance inference airliner gyroscopic adjustable defensible irritant "
    "replacement adjustment dependent adoption homologou communism activate angulariti homologous "
    "effective bowdlerize probate rate cease controll roll y yes say analogy hoping marries"
).split()


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


def test_a_word_is_the_first_of_its_forms() -> None:
    assert all(forms_of(form)[0] == form for forms in FORMS.values() for form in forms)
