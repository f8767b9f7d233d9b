"""The look-up in lemminflect's table."""

import gzip

import lemminflect

from kds.router.language import lemma_table
from kds.router.language.lemma_table import lemmas


def test_every_word_has_the_lemmas_that_lemminflect_gives_it() -> None:
    table = lemma_table._resource("lemma_lu.csv.gz")
    words = {
        line.split(b",")[0].decode() for line in gzip.decompress(table.read_bytes()).splitlines()
    }
    lower = [word for word in words if word == word.lower()]
    assert len(lower) > 60_000
    odd = [word for word in lower if lemmas(word) != lemminflect.getAllLemmas(word)]
    assert odd == []


def test_a_word_that_is_not_there_has_none() -> None:
    around = ["", "a'", "aaa", "tests2", "zzzz", "\u00e9t\u00e9", "noun,noun"]
    assert [word for word in around if lemmas(word)] == []


def test_overrides_come_on_top() -> None:
    assert lemmas("everybody") == {"NOUN": ("everybody",)}
