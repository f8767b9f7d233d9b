"""What a question asks for: its words, its identifiers, a time, a kind of answer.

Reads text, never a store; any text is a question, an empty one asks for nothing.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kds.brain.words.period import Period, find_period
from kds.brain.words.terms import EMPTY_WORDS, WORD, forms_of, joined_forms, names_in, stem

MANY_TERMS: Final = 24
"""Different words that are searched for. A pasted page must not cost a second."""

LONG_QUERY: Final = 4_000
"""Characters that are read of a question: no question is longer, a paste may be."""

_LONG_NAME: Final = 5
"""Words that may be one name without a sign of one: "get user name by id"."""

_CODE_WORDS: Final = re.compile(
    r"\b(?:code|snippet|function|method|class|decorator|signature|implementation|docstring|"
    r"script|regex|sql|traceback|stack ?trace|import|module|constructor|subroutine|api)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word asked for. ``forms`` are what the index is asked for, ``stems`` what is compared."""

    word: str
    forms: tuple[str, ...]
    stems: frozenset[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read. ``asks_for_code``: it names code, or a part of a program."""

    text: str
    terms: tuple[Term, ...]
    identifiers: tuple[str, ...]
    """Names as they stand in the question, and its words taken as one name."""
    period: Period | None
    asks_for_code: bool

    @property
    def words(self) -> tuple[str, ...]:
        """Everything the index is asked for."""
        return tuple(dict.fromkeys(form for term in self.terms for form in term.forms))


def read_question(text: str, *, now: datetime | None = None) -> Question:
    """Read a question; "yesterday" and the like count from ``now``.

    >>> question = read_question("When did she go to parse_rows()?")
    >>> [term.word for term in question.terms], question.identifiers
    (['go', 'parse', 'rows', 'parserows'], ('parse_rows',))
    """
    text = text[:LONG_QUERY]
    words = WORD.findall(text)
    told = [word for word in words if word.casefold() not in EMPTY_WORDS]
    named = identifiers = tuple(names_in(text, code=False))
    if not named and "?" not in text and len(told) > 1 and len(words) <= _LONG_NAME:
        identifiers = ("_".join(words),)  # "get user name" is how people say it
    terms: dict[str, Term] = {}
    for word in (*(told or words), *joined_forms(identifiers)):
        word = word.casefold()
        terms.setdefault(stem(word), _term(word))
    return Question(
        text=text,
        terms=tuple(terms.values())[:MANY_TERMS],
        identifiers=identifiers,
        period=find_period(text, now),
        asks_for_code=bool(named) or _CODE_WORDS.search(text) is not None,
    )


def _term(word: str) -> Term:
    forms = forms_of(word)
    return Term(word, forms, frozenset(map(stem, forms)))
