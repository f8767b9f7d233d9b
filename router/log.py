"""The last step: remember the message once everything else has succeeded.

Reads: message, at, intent, session_id, context_ref, context_switch, action. Writes: nothing
in the turn. Never: stores a reply, or a secret (the journal redacts).
"""

from dataclasses import replace

from kds.brain.context.journal import Journal, LoadedContext
from kds.brain.errors import ExposedError
from kds.brain.turn import UNKNOWN, WARNING, ContextEntry, Turn
from kds.router.pipeline import Step

_READS = frozenset(
    {"message", "at", "intent", "session_id", "context_ref", "context_switch", "action"}
)


def make_log(journal: Journal) -> Step:
    """Bind the step to a journal; it raises StoreError when the journal cannot be written.

    Where git would commit the journal, the turn goes on without being remembered, and says so.
    """

    def log(turn: Turn) -> Turn:
        entry = entry_of(turn)
        try:
            logged = journal.log(entry, fresh=turn.context_switch)
        except ExposedError as error:
            told = f"{WARNING}the message is not remembered: {error.message}; {error.hint}"
            return replace(turn, notes=(told,))
        return replace(turn, notes=_notes(entry, logged, switched=turn.context_switch))

    return Step("log", _READS, frozenset(), log)


def entry_of(turn: Turn) -> ContextEntry:
    """Say what is remembered of a turn.

    Every action is logged, so that a follow-up can refer to a message that was asked back
    or not understood; the latter with the intent UNKNOWN. The message of a topic switch has
    no session: the new one is opened by it.
    """
    return ContextEntry(
        timestamp=turn.at,
        user_message=turn.message,
        intent=UNKNOWN if turn.action == "abstain" else turn.intent,
        session_id=None if turn.context_switch else turn.session_id,
        context_ref=turn.context_ref,
    )


def _notes(entry: ContextEntry, logged: LoadedContext, *, switched: bool) -> tuple[str, ...]:
    count = len(logged.entries)
    notes = [
        f"logged as {entry.intent}, session {entry.session_id or 'none'}; "
        f"{'1 entry' if count == 1 else f'{count} entries'} in the context"
    ]
    if switched:
        notes.append("topic switch: the earlier entries were dropped")
    if logged.rotated:
        notes.append(f"rotated: {logged.rotated} oldest dropped")
    return (*notes, *(f"{WARNING}{warning}" for warning in logged.warnings))
