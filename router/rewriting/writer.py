"""A language model that writes the self-contained message where the rules could not.

It is asked for as little as possible, waited for no longer than agreed, and never believed
(`checks`). Whatever goes wrong, the expansion of the rules stands.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic, perf_counter
from typing import Final, Literal, Protocol

from kds.brain.message import one_line
from kds.brain.timeouts import CallError, Deadline, call_within
from kds.brain.turn import Outcome, Rewriting, Turn, Utterance
from kds.router.discourse.history import Discourse
from kds.router.rewriting.checks import Analyse, Fault, Told, check, read_pieces

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

KEPT: Final = 512
"""Answers that are kept: a message asked about again in the same place costs nothing."""

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


Key = tuple[object, ...]
"""All that an answer depends on: model and prompt, message, the rules' expansion, history."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model answered, or why it did not; ``ahead`` of the turn that needs it."""

    answer: str | None
    ms: float = 0.0
    reason: str | None = None
    note: str = ""
    ahead: bool = False


LEANS: Final = 0.2
"""How likely a message must need what was said before: of the dev chats, held out, one question to
the model in eight goes (201 -> 175), and .48 in place of .43 of the others need it."""


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
        self._lock = Lock()
        self._kept: OrderedDict[Key, Asked] = OrderedDict()
        self._rest = Deadline(0.0, clock=clock)
        self._rest_reason: str | None = None

    def wants(self, turn: Turn) -> bool:
        """Whether the model is to be asked about ``turn``, which the rules have expanded."""
        if self.mode == "rules-only" or not could_lean(turn):
            return False
        if turn.rewrite or (turn.unresolved and turn.needs_context >= LEANS):
            return True
        return self.mode == "model-first" and _expanded(turn)

    def ask_ahead(self, turn: Turn) -> None:
        """Ask now, on this thread, what `rewrite_turn` will want to know of ``turn``.

        For servers: the thread that routes must not wait for a model. Never raises.
        """
        key = self._key(turn)
        if self.wants(turn) and self._rest.is_over and key not in self._kept:
            self._keep(key, replace(self._ask(turn), ahead=True))

    def rewrite(self, turn: Turn, told: Told, *, only_kept: bool = False) -> Turn:
        """``turn`` with the model's expansion, if it holds, and a note. Never raises.

        With ``only_kept`` nothing is asked: without an answer from before the turn stays.
        """
        started = perf_counter()
        key = self._key(turn)
        with self._lock:
            asked = self._kept.get(key)
            if asked is not None and asked.ahead:
                del self._kept[key]
        cached = asked is not None and not asked.ahead
        if asked is None and only_kept:
            return turn
        if asked is None and not self._rest.is_over:
            asked = Asked(None, note="it failed moments ago, and is not asked again so soon")
            return self._told(turn, "resting", started, replace(asked, reason=self._rest_reason))
        if asked is None:
            asked, started = self._ask(turn), perf_counter()
        if asked.answer is None:
            return self._told(turn, "failed", started, asked)
        outcome = check(asked.answer, told, self._analyse)
        if isinstance(outcome, Fault):
            with self._lock:
                self._kept.pop(key, None)
            note = f"its rewrite is not taken ({_cut(str(outcome))}): '{_cut(asked.answer)}'"
            asked = replace(asked, note=note, reason=outcome.check)
            return self._told(turn, "rejected", started, asked, cached=cached)
        self._keep(key, Asked(asked.answer))
        if _keys(outcome.text) == _keys(turn.message):
            asked = replace(asked, note="it leaves the message as it is")
            return self._told(turn, "unchanged", started, asked, cached=cached)
        asked = replace(asked, note=f"'{outcome.text}'")
        turn = self._told(turn, "used", started, asked, cached=cached)
        return _rewritten(turn, outcome.text, outcome.brought)

    def _key(self, turn: Turn) -> Key:
        return (self._rewriter.version, turn.message, turn.expanded, _seen(turn))

    def _keep(self, key: Key, asked: Asked) -> None:
        with self._lock:
            self._kept[key] = asked
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def _ask(self, turn: Turn) -> Asked:
        started = perf_counter()
        rewriter, seen = self._rewriter, _seen(turn)
        try:
            answer = call_within(
                lambda: str(rewriter.rewrite(seen, turn.message, turn.expanded))[:ANSWER_CHARS],
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

    def _told(
        self, turn: Turn, outcome: Outcome, started: float, asked: Asked, *, cached: bool = False
    ) -> Turn:
        name = one_line(self._rewriter.name)
        ms = (perf_counter() - started) * 1000.0 + asked.ms
        lead = f"rewritten by {name}" if outcome == "used" else f"{name} was to rewrite"
        note = f"{lead}{' (asked before)' if cached else ''}: {asked.note}"
        rewriting = Rewriting(name, outcome, asked.reason, cached, ms)
        return replace(turn, rewriting=rewriting, notes=(*turn.notes, note))


def could_lean(turn: Turn) -> bool:
    """Whether there is anything to ask about: something points back, and something was said."""
    if turn.rewrite is False or turn.context_switch or len(turn.message) > MESSAGE_CHARS:
        return False
    if not (turn.context or turn.history):
        return False
    return bool(turn.rewrite or turn.unresolved or _expanded(turn))


def rewrite_turn(
    turn: Turn, discourse: Discourse, checked: CheckedRewriter, *, only_kept: bool = False
) -> Turn:
    """Return ``turn``, which the rules have expanded, with the model's expansion if it holds.

    ``discourse`` is what the rules read before it. Never raises.
    """
    if not checked.wants(turn):
        return turn
    history = turn.history
    own = [one.text for one in history if one.role == "user"]
    logged = [entry.user_message for entry in turn.context]
    expanded = [moment.expanded for moment in discourse.moments[-HISTORY:]]
    told = Told(
        message=turn.message,
        expanded=turn.expanded,
        said=tuple(dict.fromkeys((*logged, *own, *expanded))),
        replies=tuple(one.text for one in history if one.role == "assistant"),
    )
    return checked.rewrite(turn, told, only_kept=only_kept)


def _seen(turn: Turn) -> tuple[Utterance, ...]:
    """What the model sees of the conversation: replies where they are known."""
    said = turn.history or tuple(Utterance(entry.user_message) for entry in turn.context)
    return tuple(said[-HISTORY:])


def _rewritten(turn: Turn, text: str, brought: str) -> Turn:
    """The references of the rules stay as far as the model's text has their targets."""
    has = set(_keys(text))
    references = tuple(one for one in turn.references if has.issuperset(_keys(one.target)))
    kept = turn.context_ref if has.issuperset(_keys(turn.context_ref or "")) else None
    return replace(
        turn,
        expanded=text,
        references=references,
        edits=(),
        context_ref=kept or brought or turn.context_ref,
    )


def _expanded(turn: Turn) -> bool:
    return bool(turn.edits or turn.references) or turn.expanded not in ("", turn.message)


def _keys(text: str) -> list[str]:
    return [piece.key for piece in read_pieces(text)]


def _cut(text: str) -> str:
    shown = one_line(text[: 4 * SHOWN])
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1].rstrip()}…"
