"""What a session knew when a question came, and what the question leaves in it and in the figures.

A memory that cannot be used costs the session and not the answer: it is a warning.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.metrics import log_recall
from kds.query.metric import QUERY, query_metric
from kds.query.passage_search import Findings
from kds.query.recollection import QuestionCount, Recollection, recollect, shown_terms
from kds.query.understood import Understood, resolved_by_session
from kds.query.values import Query, QueryReply, SessionTurn

MEMORY_OFF: Final = "the memory is switched off: nothing of the session is kept"

SECTIONS_KEPT: Final = 3
"""Passages whose sections and documents a session remembers of a turn."""

Warned = tuple[str, ...]


class Keeper:
    """Keeps the sessions of a workspace."""

    def __init__(self, memory: ConversationMemory) -> None:
        self._memory = memory
        self._questions = QuestionCount()

    def known(self, query: Query, *, remembers: bool) -> tuple[Recollection | None, Warned]:
        """What the session remembers, the question stored in it; or why there is nothing."""
        if query.session is None:
            return None, ()
        if not self._memory.flags.enabled:
            return None, (MEMORY_OFF,)
        if not remembers and not self._memory.exists:
            return None, ()
        try:
            known = recollect(self._memory, query.session, self._questions, begins=remembers)
            if known is None or not remembers:
                return known, ()
            stored = self._memory.add(known.session, "user", query.text)
        except StoreError as error:
            return None, (f"the session was not read: {error.message}",)
        known = replace(known, asked=stored.id if stored else None)
        return known, self._memory.store.warnings

    def remember(
        self, found: Understood, answer: str | None, terms: Iterable[str]
    ) -> tuple[SessionTurn | None, Warned]:
        """Store the answer, and what the question referred to; the session after that."""
        known = found.known
        if known is None:
            return None, ()
        hit = found.findings.steered or resolved_by_session(found.query, found.turn, known)
        try:
            self._memory.remember_turn(
                known.session,
                list(terms),
                answer=answer or "",
                **_first_found(found.findings),
                fresh=found.turn.context_switch,
            )
            if answer:
                self._memory.add(known.session, "assistant", answer, summarise=False)
                self._memory.catch_up_later(known.session)
            shown = shown_terms(self._memory, known.session)
        except StoreError as error:
            warning = f"the turn was not remembered: {error.message}"
            return SessionTurn(known.session, known.turn, (), hit), (warning,)
        return SessionTurn(known.session, known.turn, shown, hit), ()

    def note_recall(self, findings: Findings) -> Warned:
        """Note the figures of a search of conversations, if one was made."""
        if findings.conversations is None:
            return ()
        noted = log_recall(
            self._memory.store,
            findings.conversations,
            surface=QUERY,
            budget_tokens=findings.budget_tokens,
            used_tokens=findings.used_tokens,
        )
        return noted.notes[len(findings.conversations.notes) :]

    def measured(self, reply: QueryReply, *, received: int) -> QueryReply:
        """Note the figures of a turn that was remembered; ``received`` messages came with it."""
        try:
            self._memory.store.metrics.add(QUERY, query_metric(reply, received=received))
        except StoreError as error:
            note = f"not measured: {error.message}"
            return replace(reply, warnings=(*reply.warnings, note))
        return reply

    def settings_fault(self) -> str | None:
        """Say what is wrong with settings that were changed; those before still hold."""
        self._memory.config.current()
        problem = self._memory.config.problem
        if problem is None:
            return None
        return "; ".join(line.strip() for line in str(problem).splitlines())


def _first_found(findings: Findings) -> dict[str, list[str] | None]:
    """The documents and sections to remember; None leaves those of the turns before in place."""
    first = [one for one in findings.chunks[:SECTIONS_KEPT] if one.source_path]
    documents = dict.fromkeys(one.source_path for one in first if one.source_path)
    sections = dict.fromkeys(one.section for one in first if one.section)
    return {"documents": list(documents) or None, "sections": list(sections) or None}
