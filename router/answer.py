"""The step that takes "the second one" or "plan it" as the answer to a clarifying question.

Nothing is kept about a question: it is asked again of the message before, which gives the same
candidates, since routing is deterministic. The original message goes on as the expansion.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kds.brain.turn import Turn
from kds.router.english import words
from kds.router.pipeline import Step
from kds.router.prompts.library import PromptLibrary
from kds.router.references.decision import is_answered

MAX_WORDS: Final = 6
"""An answer is short; anything longer is a message of its own."""

CHOSEN: Final = 1.0
"""Confidence in an intent that the user picked."""

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
        intents = (agent.intent or "" for agent in library.agents())
        known = _FILLER.union(*(_vocabulary(intent, library) for intent in intents))
        if not known.issuperset(words):  # whatever says more is a message of its own
            return turn
        *earlier, newest = turn.context
        # what had been said when the message before came: without it and the replies to it
        places = [at for at, one in enumerate(turn.history) if one.role == "user"]
        said = tuple(turn.history[: places[-1]]) if places else ()
        before = Turn(newest.user_message, newest.timestamp, context=tuple(earlier), history=said)
        asked = ask(before)
        if asked.action != "clarify":
            return turn
        if is_answered(turn) and (asked.question or "") not in turn.history[-1].text:
            return turn  # the assistant's reply is known, and not our question: "2" answers that
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

    return Step("answer", answer)


def pick(message: str, candidates: Sequence[str], library: PromptLibrary) -> str | None:
    """The candidate that an answer names: by its place, its intent, or the verb of its question.

    None when it names none of them, or more than one.
    """
    words = re.findall(r"[\w']+", message.lower())
    named = [one for one in candidates if not _vocabulary(one, library).isdisjoint(words)]
    if len(named) == 1:
        return named[0]
    if named or any(word not in _FILLER for word in words):
        return None
    places = [i for i, pattern in enumerate(_ORDER) if pattern.search(message)]
    if "last" in words:
        places = [len(candidates) - 1]
    return candidates[places[0]] if len(places) == 1 and places[0] < len(candidates) else None


def _vocabulary(intent: str, library: PromptLibrary) -> set[str]:
    """The intent's name and the verb of its question ("plan something new" -> plan)."""
    prompt = library.for_intent(intent)
    ask = prompt.ask if prompt is not None else None
    return {*intent.lower().split("_"), *(ask or "").lower().split()[:1]}
