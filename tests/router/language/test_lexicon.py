"""The lexicon and the developer vocabulary that it is completed with."""

import pytest

from kds.router.english import load_english
from kds.router.language.lexicon import forms, is_plural, readings, singular


@pytest.mark.parametrize(
    ("word", "part", "lemma"),
    [
        ("deployed", "verb", "deploy"),
        ("queries", "noun", "query"),
        ("wrote", "verb", "write"),
        ("children", "noun", "child"),
        ("slower", "adjective", "slow"),
        ("quickly", "adverb", "quickly"),
        # developer words are known in every form
        ("webhooks", "noun", "webhook"),
        ("debouncing", "verb", "debounce"),
        ("memoized", "verb", "memoize"),
        ("unzipped", "verb", "unzip"),
        ("nullable", "adjective", "nullable"),
        ("regexes", "noun", "regex"),
    ],
)
def test_inflected_words_lead_to_their_lemma(word: str, part: str, lemma: str) -> None:
    assert getattr(readings(word), part) == lemma


def test_a_word_can_have_several_readings() -> None:
    assert (readings("test").noun, readings("test").verb) == ("test", "test")


@pytest.mark.parametrize("word", ["qwzrtx", "grüßen", "x1", "", "🙂", "a-b"])
def test_anything_but_an_english_word_is_unknown(word: str) -> None:
    assert not readings(word).known


def test_every_listed_form_leads_to_a_base_that_is_listed_too() -> None:
    table = forms()
    assert [
        form for form, lemmas in table.items() for base in lemmas.values() if base not in table
    ] == []


@pytest.mark.parametrize(
    ("noun", "one"),
    [
        ("tests", "test"),
        ("boxes", "box"),
        ("Wizbangs", "Wizbang"),
        ("quuxies", "quuxy"),
        ("analysis", "analysis"),
        ("class", "class"),
        ("mice", "mouse"),
    ],
)
def test_a_noun_has_its_singular(noun: str, one: str) -> None:
    assert singular(noun) == one


@pytest.mark.parametrize("noun", ["buttons", "queries", "mice", "webhooks", "wizbangs"])
def test_plurals_are_told(noun: str) -> None:
    assert is_plural(noun, load_english())


@pytest.mark.parametrize(
    "noun", ["button", "redis", "Kubernetes", "status", "CSS", "data", "process"]
)
def test_an_s_at_the_end_does_not_make_a_plural(noun: str) -> None:
    assert not is_plural(noun, load_english())
