"""What a conversation talks about, for some hours: terms, documents, sections (issue 5).

A router that knows it can tell what "it" is when the message that named it has gone from the
context. Nothing here fails because a memory has expired: then there is nothing to know.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from kds.brain.database.stored_text import kept_text
from kds.brain.sessions.entities import EntityTable
from kds.brain.sessions.session_values import EntityMemory
from kds.brain.summaries.fact_words import FILE_ENDINGS
from kds.brain.summaries.facts import facts_of_all
from kds.brain.summaries.sentences import split
from kds.brain.summaries.transit import mark_code, shorten

SNIPPET_CHARS: Final = 300
"""Of the answer kept with a term; the store keeps no more."""

REACH_TURNS: Final = 10
"""Turns back that a term still counts as something to refer to: as far as the context goes."""

MANY: Final = 5
"""Active documents or sections kept of one turn."""

_READ_CHARS: Final = 20_000
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(?P<title>\S.*?)[\s#]*$", re.MULTILINE)
_FILE: Final = re.compile(rf"[\w~./\\@-]*\.(?:{FILE_ENDINGS})")


@dataclass(frozen=True, slots=True)
class Antecedent:
    """Something that was referred to ``turns_ago`` turns ago (0: in the newest one)."""

    term: str
    snippet: str
    turns_ago: int


@dataclass(frozen=True, slots=True)
class EntitySession:
    """The entity memory of one conversation, which may not exist yet."""

    store: EntityTable
    key: str
    ttl: timedelta | None = None
    """Since the last access; None: the store's own, 4 hours."""

    def remember_turn(
        self,
        terms: Iterable[str],
        *,
        answer: str = "",
        documents: Sequence[str] | None = None,
        sections: Sequence[str] | None = None,
        fresh: bool = False,
    ) -> EntityMemory:
        """Count a turn, with what it referred to and what was answered.

        ``fresh``: the topic has changed, and all that was known before is forgotten.

        Documents and sections that are not given are those that the answer names; when it names
        none, those of the turns before stay active.
        """
        if fresh:
            self.forget()
        read = kept_text(answer)[:_READ_CHARS]  # whole: a piece of it hides what is a secret
        named = dict.fromkeys(" ".join(term.split()) for term in terms)
        if documents is None:
            documents = _files(read) or None
        if sections is None:
            sections = _headings(read) or None
        return self.store.note(
            self.key,
            terms={term: snippet(term, read) for term in named if term},
            documents=documents,
            sections=sections,
            ttl=self.ttl,
        )

    def memory(self) -> EntityMemory | None:
        """Return all that is known; None when nothing is, or it has expired."""
        return self.store.load(self.key, ttl=self.ttl)

    def antecedents(self, *, reach: int = REACH_TURNS) -> tuple[Antecedent, ...]:
        """Return what was referred to in the last ``reach`` turns, the oldest first."""
        memory = self.memory()
        if memory is None:
            return ()
        found: dict[str, Antecedent] = {}
        for known in memory.terms:  # the latest first
            ago = memory.turn_count - known.turn
            if ago < reach:
                antecedent = Antecedent(known.term, known.snippet, ago)
                found.setdefault(known.term.casefold(), antecedent)
        return tuple(reversed(found.values()))

    def forget(self) -> bool:
        """Remove the memory; tells whether there was one."""
        return self.store.forget(self.key)


def snippet(term: str, answer: str) -> str:
    """Return the sentence of ``answer`` about ``term``, else how it begins.

    >>> snippet("login form", "Done. The login form has two fields now.")
    'The login form has two fields now.'
    """
    sentences = list(split(mark_code(answer)))
    wanted = term.casefold()
    said = next((one for one in sentences if wanted in one.casefold()), "")
    return shorten(said or " ".join(sentences[:2]), limit=SNIPPET_CHARS)


def _files(text: str) -> list[str]:
    found = (fact.text for fact in facts_of_all(text) if fact.kind == "identifier")
    return [path for path in dict.fromkeys(found) if _FILE.fullmatch(path)][:MANY]


def _headings(text: str) -> list[str]:
    found = (match["title"] for match in _HEADING.finditer(mark_code(text)))
    return list(dict.fromkeys(found))[:MANY]
