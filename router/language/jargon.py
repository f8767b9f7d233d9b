"""Developer vocabulary that a general English lexicon lacks: readings by regular inflection.

`english/jargon.yaml` has base forms alone: the others follow the regular spelling of English.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from kds.router.english import words
from kds.router.language.inflection import with_s

_DOUBLING: Final = words("jargon", "doubling")


@cache
def forms() -> dict[str, dict[str, str]]:
    """Every form of the listed words: form -> {part of speech -> base form}."""
    table: dict[str, dict[str, str]] = {}
    for pos, name, inflect in (
        ("NOUN", "nouns", _noun_forms),
        ("VERB", "verbs", _verb_forms),
        ("ADJ", "adjectives", _same),
    ):
        for base in sorted(words("jargon", name)):
            for form in inflect(base):
                table.setdefault(form, {}).setdefault(pos, base)
    return table


def _same(base: str) -> Iterator[str]:
    yield base


def _noun_forms(base: str) -> Iterator[str]:
    yield base
    yield with_s(base)


def _verb_forms(base: str) -> Iterator[str]:
    stem = base[:-1] if base.endswith("e") else base + base[-1] * (base in _DOUBLING)
    yield from (base, with_s(base), stem + "ing")
    yield base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else stem + "ed"
