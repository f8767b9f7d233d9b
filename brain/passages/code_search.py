"""Searching by identifiers: ``getUserName``, ``get_user_name`` and "get user name" are one."""

from typing import Final

from kds.brain.passages.query import Question
from kds.brain.passages.store import SearchStore
from kds.brain.passages.values import Scope, Scored

CANDIDATES: Final = 30
"""Chunks: a name in more places than that says little of any of them."""


def search_code(
    store: SearchStore, question: Question, scope: Scope, *, limit: int = CANDIDATES
) -> tuple[Scored, ...]:
    """Collect the chunks that hold an identifier of the question, in whatever spelling."""
    if not question.identifiers:
        return ()
    return store.search_identifiers(question.identifiers, scope, limit=limit)
