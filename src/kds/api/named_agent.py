"""Stands in for the classify step when the user names the agent: `#file:.../work-planner.md ...`.

Reads   nothing
Writes  intent, confidence, alternatives, secondary_intents
Never   judges whether the agent fits: who names a prompt file wants that prompt.
"""

from dataclasses import replace

from kds.brain.turn import Turn
from kds.router.classify import WRITES
from kds.router.prompts.promptfile import PromptFile
from kds.router.step import Step

CERTAIN = 1.0
"""Confidence in an intent that nobody had to guess."""


def make_named(agent: PromptFile) -> Step:
    """The step that takes the intent of ``agent``, which must have one."""

    def classify(turn: Turn) -> Turn:
        if agent.intent is None:
            raise ValueError(f"{agent.ref} is no agent")
        return replace(
            turn,
            intent=agent.intent,
            confidence=CERTAIN,
            alternatives=(),
            secondary_intents=(),
            notes=(*turn.notes, f"intent {agent.intent}: the message names its prompt {agent.ref}"),
        )

    return Step("classify", frozenset(), WRITES, classify)
