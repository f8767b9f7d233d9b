"""The step that takes "the second one" or "plan it" as the answer to a clarifying question.

Reads   message, history, context
Writes  expanded, references, edits, context_ref, context_switch, intent, confidence,
        in_scope, alternatives, secondary_intents
Never   asks by itself, and never touches a message that answers nothing.

Nothing is kept about a question: it is asked again of the message before, which gives the same
candidates, since routing is deterministic. The original message goes on as the expansion.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kds.brain.turn import Turn, Utterance
from kds.router.english import words
from kds.router.pipeline import Step
from kds.router.prompts.library import PromptLibrary
from kds.router.references.decision import is_answered

MAX_WORDS: Final = 6
"""An answer is short; anything longer is a message of its own."""

CHOSEN: Final = 1.0
"""Confidence in an intent that the user picked."""

READS: Final = frozenset({"message", "history", "context"})
WRITES: Final = frozenset(
    {
        *("expanded", "references", "edits", "context_ref", "context_switch"),
        *("intent", "confidence", "in_scope", "alternatives", "secondary_intents"),
    }
)

_ORDER: Final = (
    re.compile(r"\b(?:first|former|1st|1|a)\b", re.IGNORECASE),
    re.compile(r"\b(?:second|latter|2nd|2|b)\b", re.IGNORECASE),
    re.compile(r"\b(?:third|last|3rd|3|c)\b", re.IGNORECASE),
)
_FILLER: Final = words("function_words", "filler")


def make_answer(library: PromptLibrary, ask: Callable[[Turn], Turn]) -> Step:
    """The answer step. ``ask`` routes a message without logging it: the steps up to dispatch."""

    def answer(turn: Turn) -> Turn:
        words = re.findall(r"[\w']+", turn.message.lower())
        if not turn.context or not 0 < len(words) <= MAX_WORDS:
            return turn
        *earlier, newest = turn.context
        if not _could_answer(words, library):
            return turn
        said = _said_before(turn.history)
        asked = ask(
            Turn(newest.user_message, newest.timestamp, context=tuple(earlier), history=said)
        )
        if asked.action != "clarify" or _something_else_was_said(turn, asked.question):
            return turn
        chosen = pick(turn.message, asked.candidates, library)
        if chosen is None:
            return turn
        note = f"'{turn.message}' answers the question about '{asked.message}': {chosen}"
        return replace(
            turn,
            expanded=asked.expanded,
            references=(),
            edits=(),
            context_ref=asked.context_ref,
            context_switch=asked.context_switch,
            intent=chosen,
            confidence=CHOSEN,
            in_scope=CHOSEN,
            alternatives=(),
            secondary_intents=(),
            notes=(*turn.notes, note),
        )

    return Step("answer", READS, WRITES, answer)


def _said_before(history: Sequence[Utterance]) -> tuple[Utterance, ...]:
    """What had been said when the message before came: without it and the replies to it."""
    places = [at for at, one in enumerate(history) if one.role == "user"]
    return tuple(history[: places[-1]]) if places else ()


def _something_else_was_said(turn: Turn, question: str | None) -> bool:
    """The assistant's reply is known, and it is not our question: "2" answers the reply."""
    return is_answered(turn) and (question or "") not in turn.history[-1].text


def pick(message: str, candidates: Sequence[str], library: PromptLibrary) -> str | None:
    """The candidate that an answer names: by its place, its intent, or the verb of its question.

    None when it names none of them, or more than one.
    """
    words = re.findall(r"[\w']+", message.lower())
    named = [intent for intent in candidates if _names(intent, words, library)]
    if len(named) == 1:
        return named[0]
    if named or any(word not in _FILLER for word in words):
        return None
    places = [i for i, pattern in enumerate(_ORDER) if pattern.search(message)]
    if "last" in words:
        places = [len(candidates) - 1]
    return candidates[places[0]] if len(places) == 1 and places[0] < len(candidates) else None


def _names(intent: str, words: Sequence[str], library: PromptLibrary) -> bool:
    return bool(_vocabulary(intent, library) & set(words))


def _vocabulary(intent: str, library: PromptLibrary) -> set[str]:
    """The intent's name and the verb of its question ("plan something new" -> plan)."""
    prompt = library.for_intent(intent)
    names = set(intent.lower().split("_"))
    ask = prompt.ask if prompt is not None else None
    return names | ({ask.split()[0].lower()} if ask else set())


def _could_answer(words: Sequence[str], library: PromptLibrary) -> bool:
    """Only words of answers: whatever says more is a message of its own."""
    known = {
        word
        for agent in library.agents()
        if agent.intent
        for word in _vocabulary(agent.intent, library)
    }
    return all(word in _FILLER or word in known for word in words)
