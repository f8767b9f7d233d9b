"""Texts and questions as PostgreSQL's full text takes them, in the terms of `WordForms`.

The server's own parsers and dictionaries differ by version and locale; with terms made here both
engines find the same words, and rank them alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.passages.text_search import WordForms

LONGEST_TERM: Final = 500
"""Characters: PostgreSQL takes 2,046 bytes, and no word is that long."""

LAST_PLACE: Final = 16_383
"""The last place that a tsvector tells apart from those behind it."""

GAP: Final = 8
"""Places between two columns, so that no phrase goes from one to the other."""

LABELS: Final = "ABCD"
"""Of the columns header, body, context and idents."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index holds of a passage: a tsvector as text, and how many words it has."""

    words: str
    size: int


def indexed(forms: WordForms, columns: Sequence[str], *, tenant: int | None = None) -> Indexed:
    """Return the columns of a passage, in the order of LABELS, as the index takes them.

    >>> indexed(WordForms(), ["", "Services here, services there"])
    Indexed(words="'servic':9B,11B 'here':10B 'there':12B", size=4)
    """
    places: dict[str, list[str]] = {}
    at = size = 0
    for label, text in zip(LABELS, columns, strict=False):
        for term in forms.of_text(text):
            at += 1
            size += 1
            places.setdefault(term[:LONGEST_TERM], []).append(f"{min(at, LAST_PLACE)}{label}")
        at += GAP
    parts = [f"{quoted(term)}:{','.join(where)}" for term, where in places.items()]
    if tenant is not None:
        parts.append(f"'tenant:{tenant}'")
    return Indexed(" ".join(parts), size)


def question(terms: Sequence[str], labels: str = "") -> str:
    """Return the tsquery for a word or phrase: its terms in a row.

    >>> question(("user", "name"), "D")
    "'user':D <-> 'name':D"
    """
    suffix = f":{labels}" if labels else ""
    return " <-> ".join(f"{quoted(term[:LONGEST_TERM])}{suffix}" for term in terms)


def any_of(questions: Iterable[str]) -> str:
    """Return the tsquery for whatever answers one of several."""
    return " | ".join(f"({one})" for one in questions)


def quoted(term: str) -> str:
    """Return a term as a tsquery or tsvector takes it, whatever is in it."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
