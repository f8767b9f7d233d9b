"""Real chats with coding assistants: played in order, every edit judged, the score added up.

An edit is *right* when it stands on a labelled reference and says one of its antecedents, *wrong*
when it says another thing there, and *false* when nothing refers where it stands.
docs/evaluation.md has the form of the file and the measures.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Final, Literal

from pydantic import Field

from kds.api.measures import mean, percentile, rounded, share
from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.language.words import Analysis
from kds.router.references.resolver import apply_edits
from kds.testing.example_files import AnyText, Loose, Said, read_rows

Outcome = Literal["right", "wrong", "false"]

CHAT_FORM: Final = (
    '{"id": "a", "turns": [{"user": "Add a FAB button", "assistant": "Done.", "labelled": true, '
    '"intents": ["EXECUTE"], "refs": []}]}'
)

SPARE_WORDS: Final = 2
"""Words that an edit may say beyond those of the antecedent."""

OVERLAP: Final = 0.66
"""F1 of the words from which an edit names an antecedent that it does not contain whole."""

BINS: Final = 10
"""Bins of confidence in the calibration error."""

COMPARED: Final = (
    "turns", "changed", "edits_right", "edits_wrong", "edits_false", "precision", "harmed",
    "must_recall_user", "must_recall_assistant",
)  # fmt: skip
"""Figures of a baseline, which has no intents."""

_STOP: Final = frozenset(
    "the a an this that these those my our your his her its their it of in on at for to from with "
    "by 's".split()
)
_WORD: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")
_PRONOUN: Final = re.compile(r"\b(?:it|this|that|these|those|them)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChatReference:
    """An expression of a message that points outside it; ``text`` is "" for something left out.

    ``start`` is its offset in characters, -1 where it is not in the message. ``source`` is where
    its name can be read. Without the references it ``must`` have, a message cannot be acted on.
    """

    text: str
    start: int
    kind: str
    antecedents: tuple[str, ...]
    source: str
    must: bool


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What a user typed, and the assistant's reply; intents and references where ``labelled``."""

    user: str
    reply: str
    labelled: bool
    intents: tuple[str, ...]
    references: tuple[ChatReference, ...]


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation; ``group`` names its author or repository ("" when unknown)."""

    id: str
    group: str
    turns: tuple[ChatTurn, ...]


class _Ref(Loose):
    text: AnyText
    kind: Literal["pronoun", "demonstrative", "definite", "one", "ellipsis", "other"]
    antecedents: list[AnyText]
    source: Literal["user", "assistant", "none"]
    nth: int = 1
    must: bool = False

    def placed(self, message: str) -> ChatReference:
        at = -1
        for _ in range(self.nth if self.text else 0):
            at = message.find(self.text, at + 1)
            if at < 0:
                break
        found = tuple(self.antecedents)
        return ChatReference(self.text, at, self.kind, found, self.source, self.must)


class _Turn(Loose):
    user: AnyText
    assistant: AnyText | None = None
    labelled: bool | None = False
    intents: list[AnyText] | None = None
    refs: list[_Ref] | None = None


class _Chat(Loose):
    id: Said
    repo: AnyText | None = None
    turns: list[_Turn] = Field(min_length=1)


def read_chats(path: Path, *, limit: int | None = None) -> tuple[Chat, ...]:
    """Read a file of chats, JSON lines. Raises ExampleFileError with all its problems."""
    return tuple(
        Chat(row.id, row.repo or "", tuple(map(_chat_turn, row.turns)))
        for row, _ in read_rows(path, _Chat, form=CHAT_FORM, limit=limit)
    )


def _chat_turn(turn: _Turn) -> ChatTurn:
    refs = tuple(ref.placed(turn.user) for ref in turn.refs or ())
    intents = tuple(turn.intents or ())
    return ChatTurn(turn.user, turn.assistant or "", bool(turn.labelled), intents, refs)


@dataclass(frozen=True, slots=True)
class JudgedEdit:
    """An edit, what it said, the rule behind it ("" when unknown) and the verdict."""

    said: str
    rule: str
    outcome: Outcome
    reference: ChatReference | None


@dataclass(frozen=True, slots=True)
class PlayedChatTurn:
    """A turn of a chat with what the router made of it; CPU time in milliseconds."""

    chat: str
    number: int
    expected: ChatTurn
    turn: Turn
    edits: tuple[JudgedEdit, ...]
    cpu_ms: float

    @property
    def harmed(self) -> bool:
        """Whether the message was changed for the worse."""
        return any(edit.outcome != "right" for edit in self.edits)

    @property
    def intent_right(self) -> bool | None:
        """Whether the intent is among the labels; None without labels, or when not acted on."""
        if not self.expected.intents or self.turn.action != "route":
            return None
        return self.turn.intent in self.expected.intents

    def met(self, reference: ChatReference) -> bool:
        """Whether an edit said what ``reference`` points to."""
        return any(e.outcome == "right" and e.reference is reference for e in self.edits)


def play_chat(
    chat: Chat,
    route: Callable[[str, Sequence[Utterance]], Turn],
    tick: Callable[[], None],
    *,
    history: bool = True,
) -> list[PlayedChatTurn]:
    """Play a chat in order; ``tick`` is called after every turn.

    Without ``history`` the router sees the user's messages alone, as its context holds them.
    """
    said: list[Utterance] = []
    played = []
    for number, expected in enumerate(chat.turns, start=1):
        started = process_time()
        turn = route(expected.user, said if history else ())
        cpu_ms = (process_time() - started) * 1000.0
        edits = judge_edits(turn, expected) if expected.labelled else ()
        played.append(PlayedChatTurn(chat.id, number, expected, turn, edits, cpu_ms))
        said.append(Utterance(expected.user))
        if expected.reply:
            said.append(Utterance(expected.reply, "assistant"))
        tick()
    return played


def play_with(
    chat: Chat, open_router: Callable[[MinuteClock], Router], *, history: bool = True
) -> list[PlayedChatTurn]:
    """Play a chat in a conversation of its own, whose clock moves a minute a turn."""
    clock = MinuteClock()
    router = open_router(clock)
    return play_chat(
        chat, lambda message, said: router.route(message, history=said), clock.tick, history=history
    )


def play_baseline(chat: Chat, analyse: Callable[[str], Analysis]) -> list[PlayedChatTurn]:
    """Play a chat with the first pronoun replaced by the most recent noun: a baseline."""
    return play_chat(chat, lambda text, said: _recent_noun_turn(text, said, analyse), lambda: None)


def _recent_noun_turn(
    message: str, history: Sequence[Utterance], analyse: Callable[[str], Analysis]
) -> Turn:
    at = datetime.min.replace(tzinfo=UTC)
    found = _PRONOUN.search(message)
    users = (analyse(said.text) for said in reversed(history) if said.role == "user")
    last = next((one for one in users if one.phrases), None)
    if found is None or last is None:
        return Turn(message, at, expanded=message)
    phrase = last.phrases[-1]
    noun = last.text[last.words[phrase.core].start : last.words[phrase.end - 1].end]
    edit = Edit(found.start(), found.end(), noun)
    reference = Reference(found.group(), edit.start, edit.end, noun, "most-recent-noun", 1.0)
    expanded = apply_edits(message, [edit])
    return Turn(message, at, references=(reference,), edits=(edit,), expanded=expanded)


def judge_edits(turn: Turn, expected: ChatTurn) -> tuple[JudgedEdit, ...]:
    """Judge every edit of a turn; a message rewritten as a whole counts as one edit."""
    if turn.expanded == turn.message:
        return ()
    edits = turn.edits or (Edit(-1, -1, turn.expanded),)
    judged = (_judged(turn, edit, expected.references) for edit in edits)
    return tuple(one for one in judged if one is not None)


def _judged(turn: Turn, edit: Edit, references: Sequence[ChatReference]) -> JudgedEdit | None:
    near = [ref for ref in references if _touches(edit, ref)]
    if not near and not edit.text.strip(" ,.?!"):
        return None  # punctuation only
    said = [ref for ref in near if _says(edit, ref)] or _completed(turn.expanded, references)
    outcome: Outcome = "right" if said else "wrong" if near else "false"
    return JudgedEdit(edit.text, _rule(turn, edit), outcome, next(iter([*said, *near]), None))


def _touches(edit: Edit, ref: ChatReference) -> bool:
    placed = edit.start >= 0 and ref.start >= 0
    return placed and edit.end >= ref.start and edit.start <= ref.start + len(ref.text)


def _says(edit: Edit, ref: ChatReference) -> bool:
    forms = (edit.text, f"{edit.text} {ref.text}")
    return any(names(form, one) for one in ref.antecedents for form in forms)


def _completed(expanded: str, references: Sequence[ChatReference]) -> list[ChatReference]:
    """Every ellipsis whose missing words are in the expansion."""
    said = set(content_words(expanded))
    return [
        ref
        for ref in references
        if ref.kind == "ellipsis" and any(set(content_words(a)) <= said for a in ref.antecedents)
    ]


def _rule(turn: Turn, edit: Edit) -> str:
    for reference in turn.references:
        if reference.start <= edit.end and edit.start <= reference.end:
            return reference.rule
    return turn.references[0].rule if turn.references else ""


def names(said: str, accepted: str) -> bool:
    """Whether ``said`` names ``accepted``: all its words and little else, or most of both.

    >>> names("the FAB button", "FAB button"), names("the login form", "FAB button")
    (True, False)
    """
    one, other = set(content_words(said)), set(content_words(accepted))
    if not one or not other:
        return False
    whole = other <= one and len(one) <= len(other) + SPARE_WORDS
    return whole or 2 * len(one & other) / (len(one) + len(other)) >= OVERLAP


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in lower case."""
    found = _WORD.findall(_OWN.sub("", text.lower()))
    return [word for word in found if word.strip("./-") and word not in _STOP]


def score_chats(played: Sequence[PlayedChatTurn]) -> dict[str, object]:
    """Add up what `kds eval chats` reports; docs/evaluation.md explains the keys.

    Shares are None when nothing counts. A kind of "" is an edit where nothing refers.
    """
    turns = [one for one in played if one.expected.labelled]
    judged = [one for one in turns if one.expected.intents]
    edits = [edit for one in turns for edit in one.edits]
    counts = count_edits(edits)
    must_user, recall_user = _needed(turns, "user")
    must_assistant, recall_assistant = _needed(turns, "assistant")
    times = [one.cpu_ms for one in played]
    sure = [(one.turn.confidence, one.intent_right) for one in judged]
    return rounded({
        "turns": len(turns),
        "follow_ups": sum(one.number > 1 for one in turns),
        "changed": sum(one.turn.expanded != one.turn.message for one in turns),
        **{f"edits_{outcome}": counts[outcome] for outcome in ("right", "wrong", "false")},
        "precision": counts["precision"],
        "harmed": share(one.harmed for one in turns),
        "must_user": must_user,
        "must_recall_user": recall_user,
        "must_assistant": must_assistant,
        "must_recall_assistant": recall_assistant,
        "intents": len(judged),
        "acted": share(one.turn.action == "route" for one in judged),
        "intent_right_when_acted": share(one.intent_right for one in judged),
        "ece": calibration_error([(p, right) for p, right in sure if right is not None]),
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
        "by_rule": _grouped(edits, lambda edit: edit.rule),
        "by_kind": _grouped(edits, lambda edit: edit.reference.kind if edit.reference else ""),
    })  # fmt: skip


def count_edits(edits: Iterable[JudgedEdit]) -> dict[str, float | None]:
    """Count edits by outcome; ``precision`` is the share of right ones, None without edits."""
    found = Counter(edit.outcome for edit in edits)
    precision = found["right"] / found.total() if found else None
    return {outcome: found[outcome] for outcome in ("right", "wrong", "false")} | {
        "precision": precision
    }


def _needed(turns: Iterable[PlayedChatTurn], source: str) -> tuple[int, float | None]:
    """Count the references needed from ``source``, and the share that was written out."""
    met = [
        one.met(ref)
        for one in turns
        for ref in one.expected.references
        if ref.must and ref.source == source
    ]
    return len(met), share(met)


def _grouped(edits: Sequence[JudgedEdit], key: Callable[[JudgedEdit], str]) -> dict[str, object]:
    found = Counter(map(key, edits))
    return {
        name: count_edits(edit for edit in edits if key(edit) == name)
        for name, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    }


def calibration_error(outcomes: Sequence[tuple[float, bool]]) -> float:
    """How far confidence and being right lie apart, over ten bins (Guo et al. 2017).

    >>> calibration_error([(0.95, True), (0.95, False)])
    0.45
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for probability, right in outcomes:
        bins.setdefault(min(int(probability * BINS), BINS - 1), []).append((probability, right))
    gaps = (
        len(one) * abs((mean(p for p, _ in one) or 0.0) - (mean(float(r) for _, r in one) or 0.0))
        for one in bins.values()
    )
    return round(sum(gaps) / max(1, len(outcomes)), 6)
