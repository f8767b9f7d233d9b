"""What stands in a prompt where no message is: skills and prompt files are static text.

The template is rendered by the library as always; only the values differ. They are plain
sentences that tell the model where to look, and have the types that templates expect.
"""

from collections.abc import Sequence
from typing import Final

from kds.brain.turn import UNKNOWN
from kds.clients.generated.generated_file import PREFIX
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

MESSAGE: Final = "The message of the user that these instructions are followed for."
EXPANDED: Final = (
    "The same message, with every reference in it (it, that, the other one, what was left "
    "unsaid) replaced by what the conversation says it stands for. When KDS has given its "
    "reading of the message, that one."
)


def render_static(library: PromptLibrary, prompt: PromptFile, *, message: str = MESSAGE) -> str:
    """Render a prompt for a reader who has the conversation before them.

    Agents are called as the files written for them are named.
    Raises DispatchError when the template needs values of another kind.
    """
    return library.render(prompt, _values(called_agents(library), prompt, message))


def called_agents(library: PromptLibrary) -> tuple[PromptFile, ...]:
    """The agents that can be called by name: all but the one that asks back for the router."""
    return tuple(agent for agent in library.agents() if agent.intent != UNKNOWN)


def _values(agents: Sequence[PromptFile], prompt: PromptFile, message: str) -> dict[str, object]:
    said = {
        "timestamp": "",
        "user_message": "what the user said in this conversation, oldest message first",
        "intent": "Before this message",
        "session_id": None,
        "context_ref": None,
    }
    return {
        "message": message,
        "expanded": EXPANDED,
        "intent": prompt.intent or UNKNOWN,
        "confidence": 1.0,
        "alternatives": [],
        "secondary_intents": [],
        "context": [said],
        "context_ref": "what the conversation was about last",
        "references": [],
        "context_switch": False,
        "session_id": "The work that this conversation has begun, if it has begun any,",
        "question": None,
        "candidates": [],
        "workspace": "the folder of the project",
        "agents": [
            {"name": f"{PREFIX}{one.name}", "intent": one.intent, "description": one.description}
            for one in agents
        ],
    }
