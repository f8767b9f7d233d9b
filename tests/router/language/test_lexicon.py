"""The look-up in lemminflect's table."""

import gzip

import lemminflect

from kds.router.language import lexicon
from kds.router.language.lexicon import inflections, lemmas


def test_every_word_has_the_lemmas_that_lemminflect_gives_it() -> None:
    table = lexicon._resource("lemma_lu.csv.gz")
    words = {
        line.split(b",")[0].decode() for line in gzip.decompress(table.read_bytes()).splitlines()
    }
    lower = [word for word in words if word == word.lower()]
    assert len(lower) > 60_000
    odd = [word for word in lower if lemmas(word) != lemminflect.getAllLemmas(word)]
    assert odd == []


def test_forms_are_those_that_lemminflect_lists_first() -> None:
    table = lexicon._resource("infl_lu.csv.gz")
    rows = [line.decode().split(",") for line in gzip.decompress(table.read_bytes()).splitlines()]
    nouns = {word: forms[0] for word, kind, *forms in rows if kind == "noun"}
    assert len(nouns) > 20_000
    lower = [word for word in nouns if word == word.lower()]
    odd = [w for w in lower if inflections(w, "noun") != (nouns[w].lower().split("/")[0],)]
    assert odd == []
