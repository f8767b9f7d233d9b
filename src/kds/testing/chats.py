"""Real chats with coding assistants: played in order, every edit judged, the score added up.

An edit is *right* when it stands on a labelled reference and says one of its antecedents, *wrong*
when it says another thing there, and *false* when nothing refers where it stands.
docs/evaluation.md has the form of the file and the measures.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from kds.api.measures import calibration_error, percentile, rounded, share, timed
from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.brain.turn import Edit, Turn, Utterance
from kds.testing.example_files import AnyText, Loose, Row, Said, read_rows

Outcome = Literal["right", "wrong", "false"]

CHAT_FORM: Final = (
    '{"id": "a", "turns": [{"user": "Add a FAB button", "assistant": "Done.", "labelled": true, '
    '"intents": ["EXECUTE"], "refs": []}]}'
)

SPARE_WORDS: Final = 2
"""Words that an edit may say beyond those of the antecedent."""

OVERLAP: Final = 0.66
"""F1 of the words from which an edit names an antecedent that it does not contain whole."""

_STOP: Final = frozenset(
    "the a an this that these those my our your his her its their it of in on at for to from with "
    "by 's".split()
)
_WORD: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")


class ChatReference(Loose):
    """An expression of a message that points outside it; ``text`` is "" for something left out.

    ``nth``: which occurrence of the text. ``source`` is where its name can be read. Without the
    references it ``must`` have, a message cannot be acted on.
    """

    text: AnyText
    kind: Literal["pronoun", "demonstrative", "definite", "one", "ellipsis", "other"]
    antecedents: list[AnyText]
    source: Literal["user", "assistant", "none"]
    nth: int = 1
    must: bool = False

    def start_in(self, message: str) -> int:
        """Where it begins in ``message``, in characters; -1 where it does not stand."""
        starts = [-1]
        while self.text and (at := message.find(self.text, starts[-1] + 1)) >= 0:
            starts.append(at)
        return starts[self.nth] if 0 < self.nth < len(starts) else -1


class ChatTurn(Loose):
    """What a user typed, and the assistant's reply; intents and references where ``labelled``."""

    user: AnyText
    assistant: AnyText | None = ""
    labelled: bool | None = False
    intents: list[AnyText] | None = None
    refs: list[ChatReference] | None = None

    @property
    def references(self) -> Sequence[ChatReference]:
        """What points outside the message."""
        return self.refs or ()


class Chat(Loose):
    """A conversation; ``repo`` names its author or repository."""

    id: Said
    repo: AnyText | None = None
    turns: list[ChatTurn] = Field(min_length=1)


def read_chats(path: Path) -> tuple[Chat, ...]:
    """Read a file of chats, JSON lines. Raises ExampleFileError with all its problems."""
    return read_rows(path, Chat, form=CHAT_FORM)


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


def play_with(
    chat: Chat, open_router: Callable[[MinuteClock], Router], *, history: bool = True
) -> list[PlayedChatTurn]:
    """Play a chat in a conversation of its own, whose clock moves a minute a turn.

    Without ``history`` the router sees the user's messages alone, as its context holds them.
    """
    clock = MinuteClock()
    router = open_router(clock)
    said: list[Utterance] = []
    played = []
    for number, expected in enumerate(chat.turns, start=1):
        told = said if history else ()
        turn, cpu_ms = timed(partial(router.route, expected.user, history=told))
        edits = judge_edits(turn, expected) if expected.labelled else ()
        played.append(PlayedChatTurn(chat.id, number, expected, turn, edits, cpu_ms))
        said.append(Utterance(expected.user))
        if expected.assistant:
            said.append(Utterance(expected.assistant, "assistant"))
        clock.tick()
    return played


def judge_edits(turn: Turn, expected: ChatTurn) -> tuple[JudgedEdit, ...]:
    """Judge every edit of a turn; a message rewritten as a whole counts as one edit."""
    if turn.expanded == turn.message:
        return ()
    judged = []
    for edit in turn.edits or (Edit(-1, -1, turn.expanded),):
        near = [ref for ref in expected.references if _touches(edit, ref, turn.message)]
        if not near and not edit.text.strip(" ,.?!"):
            continue  # punctuation only
        right = [ref for ref in near if _says(edit, ref)] or [
            ref for ref in expected.references if _completes(turn.expanded, ref)
        ]
        behind = (one.rule for one in turn.references
                  if one.start <= edit.end and edit.start <= one.end)  # fmt: skip
        rule = next(behind, turn.references[0].rule if turn.references else "")
        outcome: Outcome = "right" if right else "wrong" if near else "false"
        judged.append(JudgedEdit(edit.text, rule, outcome, next(iter([*right, *near]), None)))
    return tuple(judged)


def _touches(edit: Edit, ref: ChatReference, message: str) -> bool:
    start = ref.start_in(message)
    placed = edit.start >= 0 and start >= 0
    return placed and edit.end >= start and edit.start <= start + len(ref.text)


def _says(edit: Edit, ref: ChatReference) -> bool:
    forms = (edit.text, f"{edit.text} {ref.text}")
    return any(names(form, one) for one in ref.antecedents for form in forms)


def _completes(expanded: str, ref: ChatReference) -> bool:
    """Whether it is an ellipsis whose missing words are in the expansion."""
    said = set(content_words(expanded))
    return ref.kind == "ellipsis" and any(set(content_words(a)) <= said for a in ref.antecedents)


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
    counts = _counts(edits)
    needed = {
        source: [
            any(edit.outcome == "right" and edit.reference is ref for edit in one.edits)
            for one in turns
            for ref in one.expected.references
            if ref.must and ref.source == source
        ]
        for source in ("user", "assistant")
    }
    times = [one.cpu_ms for one in played]
    sure = [(one.turn.confidence, one.intent_right) for one in judged]
    return rounded({
        "turns": len(turns),
        "follow_ups": sum(one.number > 1 for one in turns),
        "changed": sum(one.turn.expanded != one.turn.message for one in turns),
        **{f"edits_{outcome}": counts[outcome] for outcome in ("right", "wrong", "false")},
        "precision": counts["precision"],
        "harmed": share(one.harmed for one in turns),
        "must_user": len(needed["user"]),
        "must_recall_user": share(needed["user"]),
        "must_assistant": len(needed["assistant"]),
        "must_recall_assistant": share(needed["assistant"]),
        "intents": len(judged),
        "acted": share(one.turn.action == "route" for one in judged),
        "intent_right_when_acted": share(one.intent_right for one in judged),
        "ece": calibration_error([(p, right) for p, right in sure if right is not None]),
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
        "by_rule": _grouped((edit.rule, edit) for edit in edits),
        "by_kind": _grouped(
            (edit.reference.kind if edit.reference else "", edit) for edit in edits
        ),
    })  # fmt: skip


def _counts(edits: Sequence[JudgedEdit]) -> dict[str, float | None]:
    """Edits by outcome, and the share of right ones; None without edits."""
    outcomes = ("right", "wrong", "false")
    counts = {outcome: sum(one.outcome == outcome for one in edits) for outcome in outcomes}
    return counts | {"precision": share(one.outcome == "right" for one in edits)}


def _grouped(edits: Iterable[tuple[str, JudgedEdit]]) -> dict[str, object]:
    """The counts of each group, the largest first."""
    pairs = sorted(edits, key=lambda pair: pair[0])
    groups = {name: [one for group, one in pairs if group == name] for name, _ in pairs}
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    return {name: _counts(group) for name, group in largest}


def chat_error(one: PlayedChatTurn) -> Row | None:
    """What was wrong with a labelled turn, for `--errors`."""
    if not one.expected.labelled or not (one.harmed or one.intent_right is False):
        return None
    return {
        "chat": one.chat,
        "turn": one.number,
        "user": one.expected.user,
        "expanded": one.turn.expanded,
        "edits": [
            {"said": edit.said, "rule": edit.rule, "outcome": edit.outcome} for edit in one.edits
        ],
        "refs": [
            ref.model_dump(include={"text", "kind", "antecedents"})
            for ref in one.expected.references
        ],
        "intent": one.turn.intent,
        "confidence": round(one.turn.confidence, 4),
        "intents": list(one.expected.intents or ()),
        "why": list(one.turn.why),
    }
