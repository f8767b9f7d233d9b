"""How a model hands the work on: with a small tool, or with a last line `Handoff: TEST`.

Only to the intents that the front matter of its agent lists under `handoffs`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from langchain_core.tools import BaseTool, StructuredTool

from kds.agents.reply import Handoff
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

HAND_OFF: Final = "hand_off"
"""Name of the tool."""

FIELD: Final = "handoff"
"""A field of structured output in which an agent may name an intent, where it declares it."""

REASON_CHARS: Final = 300

_LINE: Final = re.compile(
    r"\W*hand[ -]?off(?: to)?\W*:\W*(?P<intent>[A-Z][A-Z0-9_-]*)"
    r"(?:\W+\([\w-]+\))?\W*?(?:[-–—:.]\s*(?P<why>.*))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Handing:
    """Where one agent may hand on to: its intents, each with its agent."""

    targets: Mapping[str, PromptFile]

    @classmethod
    def of(cls, prompt: PromptFile, library: PromptLibrary) -> "Handing":
        """What the front matter of ``prompt`` declares."""
        found = {intent: library.for_intent(intent) for intent in prompt.handoffs}
        return cls({intent: agent for intent, agent in found.items() if agent is not None})

    def tool(self) -> BaseTool:
        """The tool for the model. What it is called with goes to `given`; it does nothing."""
        lines = "\n".join(f"{name}: {agent.description}" for name, agent in self.targets.items())
        schema = {
            "title": HAND_OFF,
            "type": "object",
            "properties": {
                "intent": {
                    "type": "string",
                    "enum": list(self.targets),
                    "description": "who goes on",
                },
                "reason": {"type": "string", "description": "why, in one sentence"},
            },
            "required": ["intent"],
        }
        return StructuredTool.from_function(
            lambda **_: "",
            name=HAND_OFF,
            description=(
                "Hand the work on when yours is done and the user's wish goes beyond it. "
                f"Write your answer as well.\n{lines}"
            ),
            args_schema=schema,
        )

    def given(self, intent: object, reason: object = "") -> Handoff | None:
        """The handoff to ``intent``, or to the agent of that name; None: it is not declared."""
        said = intent.strip() if isinstance(intent, str) else ""
        agents = {agent.name: target for target, agent in self.targets.items()}
        name = agents.get(said.lower(), said.upper())
        if name not in self.targets:
            return None
        why = " ".join(reason.split())[:REASON_CHARS] if isinstance(reason, str) else ""
        return Handoff(name, self.targets[name].name, why)

    def said(self, text: str) -> tuple[Handoff | None, str | None]:
        """The handoff in the last line of an answer, and the intent it names without being one."""
        lines = text.strip().splitlines()
        found = _LINE.fullmatch(lines[-1].strip()) if lines else None
        if found is None:
            return None, None
        handoff = self.given(found["intent"], found["why"] or "")
        return handoff, None if handoff else found["intent"]
