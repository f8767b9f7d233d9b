"""The step that has a language model write the self-contained message where the rules could not.

Never asks about a message that stands alone, waits longer than agreed, or takes a text that fails
a check. Whatever goes wrong, the expansion of the rules stands.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from time import monotonic, perf_counter
from typing import Final, Literal

from kds.brain.errors import KdsError
from kds.brain.message import one_line
from kds.brain.timeouts import CallError, Deadline, call_within
from kds.brain.turn import Outcome, Rewriting, Turn, Utterance
from kds.router.pipeline import Step
from kds.router.rewriting.checks import Fault, check, keys_of

Mode = Literal["rules-only", "rules-first", "model-first"]
"""``rules-only`` never asks a model. ``rules-first`` asks where something points back and the
rules abstain. ``model-first`` asks wherever something points back."""

Rewriter = Callable[[Sequence[Utterance], str, str], str]
"""Returns a message so that it can be read alone, from what was said before, the message and the
rules' attempt. May be slow, raise anything, and say anything."""

HISTORY: Final = 6
"""Messages that the model sees of the conversation."""

MESSAGE_CHARS: Final = 1_000
"""A longer message is not a follow-up: it names what it is about."""

LEANS: Final = 0.2
"""How likely a message must need what was said before: of the dev chats, held out, one question to
the model in eight goes (201 -> 175), and .48 in place of .43 of the others need it."""

REST_S: Final = 30.0
"""Seconds without a question after a failure: a dead model would cost every turn its timeout."""

ANSWER_CHARS: Final = 16_000
"""Characters of an answer that are looked at and kept: any longer one is turned down anyway."""

KEPT: Final = 512
"""Answers that are kept: a message asked about again in the same place costs nothing."""

SHOWN: Final = 120
"""Characters of a model's text, or of an error, that a note shows."""


class CheckedRewriter:
    """Asks a `Rewriter` within its time, and keeps the answers that hold. For any threads."""

    def __init__(
        self,
        rewriter: Rewriter,
        *,
        name: str,
        mode: Mode,
        timeout_s: float,
        rest_s: float = REST_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.mode: Mode = mode
        self._rewriter, self._name = rewriter, one_line(name)
        self._timeout_s, self._rest_s = timeout_s, rest_s
        self._lock = Lock()
        self._kept: dict[object, tuple[str, float]] = {}
        """Answers, and for how many ms a turn is yet to say that it waited."""
        self._rest = Deadline(0.0, clock=clock)
        self._failure = ""

    def wants(self, turn: Turn) -> bool:
        """Whether the model is to be asked about ``turn``, which the rules have expanded."""
        if self.mode == "rules-only" or not _may_lean(turn):
            return False
        if turn.rewrite or (turn.unresolved and turn.needs_context >= LEANS):
            return True
        return self.mode == "model-first" and _is_expanded(turn)

    def ask_ahead(self, turn: Turn) -> None:
        """Ask now, on this thread, what `rewrite` will want to know of ``turn``. Never raises.

        For servers: the thread that routes must not wait for a model.
        """
        if self.wants(turn) and self._rest.is_over and _key(turn) not in self._kept:
            with suppress(CallError):
                self._keep(turn, *self._ask(turn))

    def rewrite(self, turn: Turn, *, only_kept: bool = False) -> Turn:
        """``turn`` with the model's expansion, if it holds, and a note. Never raises.

        With ``only_kept`` nothing is asked: without an answer from before the turn stays.
        """
        kept, started = self._kept.get(_key(turn)), perf_counter()
        if not self.wants(turn) or (kept is None and only_kept):
            return turn
        asked_ms = kept[1] if kept else 0.0

        def told(outcome: Outcome, note: str, reason: str | None = None) -> Turn:
            cached = kept is not None and not asked_ms
            ms = (perf_counter() - started) * 1000.0 + asked_ms
            by = f"rewritten by {self._name}"
            lead = by if outcome == "used" else f"{self._name} was to rewrite"
            found = replace(turn, rewriting=Rewriting(self._name, outcome, reason, cached, ms))
            return _noted(found, f"{lead}{' (asked before)' * cached}: {note}")

        if kept is None and not self._rest.is_over:
            note = "it failed moments ago, and is not asked again so soon"
            return told("resting", note, self._failure)
        try:
            answer, _ = kept or self._ask(turn)
        except CallError as error:
            return told("failed", _cut(error.message), self._failure)
        own = (one.user_message for one in turn.context)
        said = (*own, *(one.text for one in turn.history), turn.expanded)
        found = check(answer, turn.message, said)
        if isinstance(found, Fault):
            self._kept.pop(_key(turn), None)
            note = f"its rewrite is not taken ({_cut(str(found))}): '{_cut(answer)}'"
            return told("rejected", note, found.check)
        self._keep(turn, answer, 0.0)
        if keys_of(found.text) == keys_of(turn.message):
            return told("unchanged", "it leaves the message as it is")
        # the references of the rules stay as far as the model's text has their targets
        has, ref = set(keys_of(found.text)), turn.context_ref or ""
        references = tuple(one for one in turn.references if has.issuperset(keys_of(one.target)))
        ref = ref if ref and has.issuperset(keys_of(ref)) else found.brought or ref
        return replace(
            told("used", f"'{found.text}'"),
            expanded=found.text,
            references=references,
            edits=(),
            context_ref=ref or None,
        )

    def _keep(self, turn: Turn, answer: str, asked_ms: float) -> None:
        with self._lock:
            self._kept[_key(turn)] = answer, asked_ms
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def _ask(self, turn: Turn) -> tuple[str, float]:
        started, ask, seen = perf_counter(), self._rewriter, _seen(turn)
        try:
            answer = call_within(
                lambda: str(ask(seen, turn.message, turn.expanded))[:ANSWER_CHARS],
                timeout_s=self._timeout_s,
            )
        except CallError as error:
            cause = error.__cause__
            kind = getattr(cause, "kind", type(cause).__name__)
            self._failure = "timeout" if cause is None else str(kind)
            self._rest.renew(self._rest_s)
            raise
        return answer, (perf_counter() - started) * 1000.0


FindRewriter = Callable[[], CheckedRewriter | None]
"""Returns the rewriter that is set up now, None when none is. Asked only for messages that may
need one. May raise KdsError: the settings are wrong, the model cannot be made."""


def no_rewriter() -> CheckedRewriter | None:
    """Where the rules alone are to be at work."""
    return None


def make_rewrite(find: FindRewriter, *, only_kept: bool = False) -> Step:
    """The rewrite step. With ``only_kept`` no model is asked: what it said before counts."""

    def rewrite(turn: Turn) -> Turn:
        why = "the message begins a topic, or is too long to be a follow-up"
        if _may_lean(turn):
            try:
                checked = find()
            except KdsError as error:
                failed = Rewriting("none", "failed", getattr(error, "kind", "setting"))
                note = f"no model: {one_line(error.message)}"
                return replace(_noted(turn, note), rewriting=failed)
            if checked is not None and checked.mode != "rules-only":
                return checked.rewrite(turn, only_kept=only_kept)
            why = "the settings say rules-only" if checked else "none is set up"
        return _noted(turn, f"no model is asked: {why}") if turn.rewrite else turn

    return Step("rewrite", rewrite)


def _may_lean(turn: Turn) -> bool:
    """Whether there is anything to ask about: something points back, and something was said."""
    if turn.rewrite is False or turn.context_switch or len(turn.message) > MESSAGE_CHARS:
        return False
    leans = turn.rewrite or turn.unresolved or _is_expanded(turn)
    return bool(leans and (turn.context or turn.history))


def _is_expanded(turn: Turn) -> bool:
    return bool(turn.edits or turn.references) or turn.expanded not in ("", turn.message)


def _seen(turn: Turn) -> tuple[Utterance, ...]:
    """What the model sees of the conversation: replies where they are known."""
    said = turn.history or tuple(Utterance(entry.user_message) for entry in turn.context)
    return tuple(said[-HISTORY:])


def _key(turn: Turn) -> object:
    """All that an answer depends on."""
    return turn.message, turn.expanded, _seen(turn)


def _noted(turn: Turn, note: str) -> Turn:
    return replace(turn, notes=(*turn.notes, note))


def _cut(text: str) -> str:
    shown = one_line(text[: 4 * SHOWN])
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1].rstrip()}…"
