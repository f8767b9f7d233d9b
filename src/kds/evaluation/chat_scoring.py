"""What the router does to real chats: does it do no harm, and does it help?

The measures are those of docs/evaluation.md. An edit is *right* when it stands on a labelled
reference and says one of its antecedents, *wrong* when it says another thing there, and *false*
when nothing was to be written where it stands.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, Final, Literal

from kds.brain.turn import Edit, Turn, Utterance
from kds.evaluation.chats import Chat, ChatReference, ChatTurn
from kds.measures import mean, percentile, rounded, share

Outcome = Literal["right", "wrong", "false"]

SPARE_WORDS: Final = 2
"""Words that an edit may say beyond those of the antecedent."""

OVERLAP: Final = 0.66
"""F1 of the words from which an edit names an antecedent that it does not hold whole."""

BINS: Final = 10
"""Bins of confidence in the calibration error."""

_STOP: Final = frozenset(
    "the a an this that these those my our your his her its their it of in on at for to from with "
    "by 's".split()
)
_WORD: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")


@dataclass(frozen=True, slots=True)
class JudgedEdit:
    """An edit, what it said, the rule behind it ("" where none is named) and the verdict."""

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

    def follows_up(self) -> bool:
        """Whether something was said before it."""
        return self.number > 1

    def changed(self) -> bool:
        """Whether the message was rewritten."""
        return self.turn.expanded != self.turn.message

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


Route = Callable[[str, Sequence[Utterance]], Turn]
"""Routes a message with what was said before it."""


def play_chat(
    chat: Chat, route: Route, tick: Callable[[], None], *, history: bool = True
) -> list[PlayedChatTurn]:
    """Play a chat in order; ``tick`` is called behind every turn.

    Without ``history`` the router sees the user's messages alone, as its context holds them.
    """
    said: list[Utterance] = []
    played = []
    for number, expected in enumerate(chat.turns, start=1):
        started = process_time()
        turn = route(expected.user, said if history else ())
        cpu_ms = (process_time() - started) * 1000.0
        edits = judge(turn, expected) if expected.labelled else ()
        played.append(PlayedChatTurn(chat.id, number, expected, turn, edits, cpu_ms))
        said.append(Utterance(expected.user))
        if expected.reply:
            said.append(Utterance(expected.reply, "assistant"))
        tick()
    return played


def judge(turn: Turn, expected: ChatTurn) -> tuple[JudgedEdit, ...]:
    """The verdict on every edit of a turn; a message rewritten as a whole counts as one edit."""
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
    return placed and edit.end >= ref.start and edit.start <= ref.end


def _says(edit: Edit, ref: ChatReference) -> bool:
    forms = (edit.text, f"{edit.text} {ref.text}")
    return any(names(form, one) for one in ref.antecedents for form in forms)


def _completed(expanded: str, references: Sequence[ChatReference]) -> list[ChatReference]:
    """Every ellipsis whose missing words the expansion has."""
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
    """The words of a text that carry meaning, in lower case."""
    found = _WORD.findall(_OWN.sub("", text.lower()))
    return [word for word in found if word.strip("./-") and word not in _STOP]


@dataclass(frozen=True, slots=True)
class EditCount:
    """Edits by outcome, and the share of right ones (None for no edits)."""

    right: int
    wrong: int
    false: int

    @property
    def precision(self) -> float | None:
        """Right ones among all."""
        whole = self.right + self.wrong + self.false
        return self.right / whole if whole else None

    @classmethod
    def of(cls, edits: Iterable[JudgedEdit]) -> "EditCount":
        """Count ``edits``."""
        found = Counter(edit.outcome for edit in edits)
        return cls(found["right"], found["wrong"], found["false"])

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "right": self.right, "wrong": self.wrong, "false": self.false,
            "precision": self.precision,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatScore:
    """How chats came out. Shares lie in [0, 1], and are None when nothing counts.

    The keys of `as_dict` are those of the project's measuring script. ``by_rule`` and
    ``by_kind`` count edits; a kind of "" is an edit where nothing refers.
    """

    turns: int
    follow_ups: int
    changed: int
    edits: EditCount
    harmed: float | None
    must: Mapping[str, tuple[int, float | None]]
    """By source: references a stranger needs, and the share of them that was written out."""
    intents: int
    acted: float | None
    intent_right_when_acted: float | None
    ece: float
    ms_p50: float
    ms_p99: float
    by_rule: Mapping[str, EditCount]
    by_kind: Mapping[str, EditCount]

    def as_dict(self) -> dict[str, object]:
        """The object that `kds eval chats --json` prints."""
        (must_user, recall_user), (must_reply, recall_reply) = (
            self.must["user"], self.must["assistant"],
        )  # fmt: skip
        found: dict[str, object] = {
            "turns": self.turns,
            "follow_ups": self.follow_ups,
            "changed": self.changed,
            **{f"edits_{name}": getattr(self.edits, name) for name in ("right", "wrong", "false")},
            "precision": self.edits.precision,
            "harmed": self.harmed,
            "must_user": must_user,
            "must_recall_user": recall_user,
            "must_assistant": must_reply,
            "must_recall_assistant": recall_reply,
            "intents": self.intents,
            "acted": self.acted,
            "intent_right_when_acted": self.intent_right_when_acted,
            "ece": self.ece,
            "ms_p50": self.ms_p50,
            "ms_p99": self.ms_p99,
            "by_rule": {name: count.as_dict() for name, count in self.by_rule.items()},
            "by_kind": {name: count.as_dict() for name, count in self.by_kind.items()},
        }
        return rounded(found)


def score_chats(played: Sequence[PlayedChatTurn]) -> ChatScore:
    """Add up what `kds eval chats` reports."""
    turns = [one for one in played if one.expected.labelled]
    edits = [edit for one in turns for edit in one.edits]
    times = [one.cpu_ms for one in played]
    return ChatScore(
        turns=len(turns),
        follow_ups=sum(map(PlayedChatTurn.follows_up, turns)),
        changed=sum(map(PlayedChatTurn.changed, turns)),
        edits=EditCount.of(edits),
        harmed=share(one.harmed for one in turns),
        must={"user": _must(turns, "user"), "assistant": _must(turns, "assistant")},
        **_intents([one for one in turns if one.expected.intents]),
        ms_p50=percentile(times, 50),
        ms_p99=percentile(times, 99),
        by_rule=_counts(edits, _rule_of),
        by_kind=_counts(edits, _kind_of),
    )


def _intents(turns: Sequence[PlayedChatTurn]) -> dict[str, Any]:
    judged = ((one.turn.confidence, one.intent_right) for one in turns)
    return {
        "intents": len(turns),
        "acted": share(one.turn.action == "route" for one in turns),
        "intent_right_when_acted": share(one.intent_right for one in turns),
        "ece": calibration_error([(p, right) for p, right in judged if right is not None]),
    }


def _rule_of(edit: JudgedEdit) -> str:
    return edit.rule


def _kind_of(edit: JudgedEdit) -> str:
    return edit.reference.kind if edit.reference else ""


def _must(turns: Iterable[PlayedChatTurn], source: str) -> tuple[int, float | None]:
    met = [
        one.met(ref)
        for one in turns
        for ref in one.expected.references
        if ref.must and ref.source == source
    ]
    return len(met), share(met)


def _counts(edits: Sequence[JudgedEdit], key: Callable[[JudgedEdit], str]) -> dict[str, EditCount]:
    found = Counter(map(key, edits))
    return {
        name: EditCount.of(edit for edit in edits if key(edit) == name)
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
