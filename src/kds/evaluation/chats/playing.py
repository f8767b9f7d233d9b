"""Playing real chats in order, and the verdict on every edit.

An edit is *right* when it stands on a labelled reference and says one of its antecedents, *wrong*
when it says another thing there, and *false* when nothing was to be written where it stands
(docs/evaluation.md).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Final, Literal

from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.brain.turn import Edit, Turn, Utterance
from kds.evaluation.chats.chat_file import Chat, ChatReference, ChatTurn

Outcome = Literal["right", "wrong", "false"]

SPARE_WORDS: Final = 2
"""Words that an edit may say beyond those of the antecedent."""

OVERLAP: Final = 0.66
"""F1 of the words from which an edit names an antecedent that it does not hold whole."""

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


def play_with(
    chat: Chat, open_router: Callable[[MinuteClock], Router], *, history: bool = True
) -> list[PlayedChatTurn]:
    """Play a chat in a conversation of its own, whose clock moves a minute a turn."""
    clock = MinuteClock()
    router = open_router(clock)

    def route(message: str, said: Sequence[Utterance]) -> Turn:
        return router.route(message, history=said)

    return play_chat(chat, route, clock.tick, history=history)


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
