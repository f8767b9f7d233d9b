"""A language model that writes the self-contained message where the rules could not.

It is asked for as little as possible, waited for no longer than agreed, and never believed
(`rewriting_checks`). Whatever goes wrong, the expansion of the rules stands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic, perf_counter
from typing import Final, Literal, Protocol

from kds.brain.message import one_line
from kds.brain.timeouts import CallError, Deadline, call_within
from kds.brain.turn import Outcome, Rewriting, Turn, Utterance
from kds.router.discourse.history import Discourse
from kds.router.rewriting.asked import Answers, Asked, Key
from kds.router.rewriting.checks import Analyse, Fault, Told, check
from kds.router.rewriting.text import read_pieces

Mode = Literal["rules-only", "rules-first", "model-first"]
"""``rules-only`` never asks a model. ``rules-first`` asks where something points back and the
rules abstain. ``model-first`` asks wherever something points back."""

HISTORY: Final = 6
"""Messages that the model sees of the conversation."""

TIMEOUT_S: Final = 5.0
"""Seconds that a turn waits; `rewriting.timeout_s` of the settings."""

MESSAGE_CHARS: Final = 1_000
"""A longer message is not a follow-up: it names what it is about."""

REST_S: Final = 30.0
"""Seconds without a question after a failure: a dead model would cost every turn its timeout."""

ANSWER_CHARS: Final = 16_000
"""Characters of an answer that are looked at and kept: any longer one is turned down anyway."""

SHOWN: Final = 120
"""Characters of a model's text, or of an error, that a note shows."""


class Rewriter(Protocol):
    """Writes self-contained messages. May be slow, raise anything, and say anything."""

    @property
    def name(self) -> str:
        """What to call it: "openai:gpt-5-mini"."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever its answers would: with the model, with the prompt."""
        ...

    def rewrite(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Return ``message`` so that it can be read alone; ``expanded`` is the rules' attempt."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of asking: ``text`` is None when the rules' expansion stands."""

    rewriting: Rewriting
    note: str
    text: str | None = None
    brought: str = ""
    """The longest phrase that the text brought in."""


class CheckedRewriter:
    """Asks a `Rewriter` within its time, and keeps the answers that hold. For any threads."""

    def __init__(
        self,
        rewriter: Rewriter,
        analyse: Analyse,
        *,
        mode: Mode = "rules-first",
        timeout_s: float = TIMEOUT_S,
        rest_s: float = REST_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.mode: Mode = mode
        self._rewriter = rewriter
        self._analyse = analyse
        self._timeout_s = timeout_s
        self._rest_s = rest_s
        self._answers = Answers()
        self._rest = Deadline(0.0, clock=clock)
        self._rest_reason: str | None = None

    def wants(self, turn: Turn) -> bool:
        """Whether the model is to be asked about ``turn``, which the rules have expanded."""
        if self.mode == "rules-only" or not could_lean(turn):
            return False
        if turn.rewrite or turn.unresolved:
            return True
        return self.mode == "model-first" and _expanded(turn)

    def ask_ahead(self, turn: Turn) -> None:
        """Ask now, on this thread, what `rewrite_turn` will want to know of ``turn``.

        For servers: the thread that routes must not wait for a model. Never raises.
        """
        history = said_before(turn)[-HISTORY:]
        key = self._key(history, turn.message, turn.expanded)
        if self.wants(turn) and self._answers.kept(key) is None and self._rest.is_over:
            self._answers.put_ahead(key, self._ask(key, history, turn.message, turn.expanded))

    def attempt(
        self, history: Sequence[Utterance], told: Told, *, only_kept: bool = False
    ) -> Attempt | None:
        """Have ``told.message`` rewritten. Never raises.

        With ``only_kept`` nothing is asked: None when there is no answer from before.
        """
        started = perf_counter()
        seen = tuple(history[-HISTORY:])
        key = self._key(seen, told.message, told.expanded)
        asked = None if only_kept else self._answers.take_ahead(key)
        if asked is None and (answer := self._answers.kept(key)) is not None:
            return self._judged(key, Asked(answer), told, started, cached=True)
        if only_kept:
            return None
        if asked is None and not self._rest.is_over:
            note = "it failed moments ago, and is not asked again so soon"
            return self._attempt("resting", started, note=note, reason=self._rest_reason)
        if asked is None:
            asked = self._ask(key, seen, told.message, told.expanded)
            started = perf_counter()
        if asked.answer is None:
            return self._attempt("failed", started, asked, note=asked.note, reason=asked.reason)
        return self._judged(key, asked, told, started, cached=False)

    def _key(self, seen: Sequence[Utterance], message: str, expanded: str) -> Key:
        return (self._rewriter.version, message, expanded, tuple(seen))

    def _ask(self, key: Key, seen: Sequence[Utterance], message: str, expanded: str) -> Asked:
        started = perf_counter()
        rewriter = self._rewriter
        try:
            answer = call_within(
                lambda: str(rewriter.rewrite(seen, message, expanded))[:ANSWER_CHARS],
                timeout_s=self._timeout_s,
            )
        except CallError as error:
            cause = error.__cause__
            kind = getattr(cause, "kind", type(cause).__name__)
            self._rest_reason = "timeout" if cause is None else str(kind)
            self._rest.renew(self._rest_s)
            ms = (perf_counter() - started) * 1000.0
            return Asked(None, ms, self._rest_reason, _cut(error.message))
        return Asked(answer, (perf_counter() - started) * 1000.0)

    def _judged(
        self, key: Key, asked: Asked, told: Told, started: float, *, cached: bool
    ) -> Attempt:
        answer = asked.answer or ""
        outcome = check(answer, told, self._analyse)
        if isinstance(outcome, Fault):
            note = f"its rewrite is not taken ({_cut(str(outcome))}): '{_cut(answer)}'"
            reason = outcome.check
            return self._attempt(
                "rejected", started, asked, note=note, reason=reason, cached=cached
            )
        self._answers.keep(key, answer)
        if _same(outcome.text, told.message):
            note = "it leaves the message as it is"
            return self._attempt("unchanged", started, asked, note=note, cached=cached)
        note = f"'{outcome.text}'"
        made = self._attempt("used", started, asked, note=note, cached=cached)
        return replace(made, text=outcome.text, brought=outcome.brought)

    def _attempt(
        self,
        outcome: Outcome,
        started: float,
        asked: Asked | None = None,
        *,
        note: str,
        reason: str | None = None,
        cached: bool = False,
    ) -> Attempt:
        name = one_line(self._rewriter.name)
        ms = (perf_counter() - started) * 1000.0 + (asked.ms if asked else 0.0)
        lead = f"rewritten by {name}" if outcome == "used" else f"{name} was to rewrite"
        again = " (asked before)" if cached else ""
        return Attempt(Rewriting(name, outcome, reason, cached, ms), f"{lead}{again}: {note}")


def could_lean(turn: Turn) -> bool:
    """Whether there is anything to ask about: something points back, and something was said."""
    if turn.rewrite is False or turn.context_switch or len(turn.message) > MESSAGE_CHARS:
        return False
    if not (turn.context or turn.history):
        return False
    return bool(turn.rewrite or turn.unresolved or _expanded(turn))


def said_before(turn: Turn) -> tuple[Utterance, ...]:
    """Return what the model sees of the conversation, at most: replies where they are known."""
    return turn.history or tuple(Utterance(entry.user_message) for entry in turn.context)


def rewrite_turn(
    turn: Turn, discourse: Discourse, checked: CheckedRewriter, *, only_kept: bool = False
) -> Turn:
    """Return ``turn``, which the rules have expanded, with the model's expansion if it holds.

    ``discourse`` is what the rules read before it. Never raises.
    """
    if not checked.wants(turn):
        return turn
    history = said_before(turn)
    attempt = checked.attempt(history, _told(turn, history, discourse), only_kept=only_kept)
    if attempt is None:
        return turn
    turn = replace(turn, rewriting=attempt.rewriting, notes=(*turn.notes, attempt.note))
    return turn if attempt.text is None else _rewritten(turn, attempt.text, attempt.brought)


def _told(turn: Turn, history: Sequence[Utterance], discourse: Discourse) -> Told:
    own = [said.text for said in history if said.role == "user"]
    logged = [entry.user_message for entry in turn.context]
    expanded = [moment.expanded for moment in discourse.moments[-HISTORY:]]
    return Told(
        message=turn.message,
        expanded=turn.expanded,
        said=tuple(dict.fromkeys((*logged, *own, *expanded))),
        replies=tuple(said.text for said in history if said.role == "assistant"),
    )


def _rewritten(turn: Turn, text: str, brought: str) -> Turn:
    """The references of the rules stay as far as the model's text has their targets."""
    has = {piece.key for piece in read_pieces(text)}

    def holds(target: str) -> bool:
        return all(piece.key in has for piece in read_pieces(target))

    references = tuple(one for one in turn.references if holds(one.target))
    kept = turn.context_ref if turn.context_ref and holds(turn.context_ref) else None
    return replace(
        turn,
        expanded=text,
        references=references,
        edits=(),
        context_ref=kept or brought or turn.context_ref,
    )


def _expanded(turn: Turn) -> bool:
    return bool(turn.edits or turn.references) or turn.expanded not in ("", turn.message)


def _same(one: str, two: str) -> bool:
    return [p.key for p in read_pieces(one)] == [p.key for p in read_pieces(two)]


def _cut(text: str) -> str:
    shown = one_line(text[: 4 * SHOWN])
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1].rstrip()}…"
