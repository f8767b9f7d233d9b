"""The language layer: any text in, an analysis out that fits the text."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kds.brain.errors import KdsError
from kds.router.language.analysis import Language
from kds.router.language.words import Analysis

from ...effort import LINEAR, bounded, growth, steps

MOST_STEPS = 1_500_000
"""Lines of Python for one message: three times what the most laborious needs, brackets."""

PIECES = st.sampled_from(
    "it them this the a button `x` \"a b\" 'c' src/a.py getUser() 's n't don't --flag #4 /api "
    "12px 🙂 שלום ``` ? ! . , ; : ( ) - — and or of I that".split()
)
QUOTES = st.text("`\"'“” ab-/.", max_size=30)
CHAT = st.lists(PIECES, max_size=14).map(" ".join)


def check_fits(analysis: Analysis, text: str) -> None:
    """Words lie in the text, in order, without overlap; phrases and clauses lie in the words."""
    last = 0
    for i, word in enumerate(analysis.words):
        assert word.i == i
        assert last <= word.start < word.end <= len(text)
        assert text[word.start : word.end] == word.text
        last = word.end
    count = len(analysis.words)
    for phrase in analysis.phrases:
        assert 0 <= phrase.start <= phrase.core <= phrase.head < phrase.end <= count
        assert 0 <= phrase.clause < len(analysis.clauses)
    for clause in analysis.clauses:
        assert 0 <= clause.start < clause.end <= count
        assert clause.verb is None or clause.start <= clause.verb < clause.end
    for first, stop, label, _ in analysis.entities:
        assert 0 <= first < stop <= count
        assert label


@given(text=st.one_of(st.text(st.characters(codec="utf-8"), max_size=80), QUOTES, CHAT))
@example(text="'a'/'b'")
@settings(max_examples=120)
def test_the_analysis_of_any_text_fits_the_text(language: Language, text: str) -> None:
    check_fits(language.analyse(text), text)


@pytest.mark.parametrize(
    "unit", ["Make it red and move the chart to the footer. ", "a", "a/b", "aB", "(", "x_", "it "]
)
def test_a_message_of_100_kb_takes_no_more_work_than_its_head(
    language: Language, unit: str
) -> None:
    text = (unit * 100_000)[:100_000]
    with bounded():
        check_fits(language.analyse(text), text)
    assert steps(lambda: language.analyse(f"{text} ")) < MOST_STEPS
    assert growth(lambda length: language.analyse(text[:length]), 100) < LINEAR


def test_a_model_that_is_not_installed_is_an_error_with_a_way_out() -> None:
    with pytest.raises(KdsError, match="no_such_model") as caught:
        Language(model="no_such_model")
    assert "install it" in (caught.value.hint or "")


def test_the_command_line_of_spacy_is_not_loaded_and_can_be_imported_afterwards() -> None:
    code = (
        "import sys; from kds.router.language.analysis import import_spacy; import_spacy();"
        "print({'spacy.cli', 'typer', 'weasel', 'requests'} & {*sys.modules});"
        "import spacy.cli; print(callable(spacy.cli.app))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["set()", "True"], done.stderr
