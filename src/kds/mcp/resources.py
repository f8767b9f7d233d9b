"""The resources: the conversation context and the prompt files, to attach to a chat."""

import json
from typing import Any, Final
from urllib.parse import quote

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import Resource

from kds.mcp.slash_prompts import title
from kds.mcp.tool_schemas import ContextView
from kds.mcp.workplace import Workplace
from kds.router.prompts.promptfile import PromptFile

CONTEXT: Final = "kds://context"
CONVERSATION: Final = "kds://context/{conversation}"
PROMPTS: Final = "kds://prompts"
PROMPT: Final = "kds://prompts/{name}"
INTENTS: Final = "kds://intents"
INTENT: Final = "kds://intents/{intent}"

KNOWN: Final = (CONTEXT, CONVERSATION, PROMPTS, PROMPT, INTENTS, INTENT)

_JSON: Final = "application/json"
_MARKDOWN: Final = "text/markdown"

_ANY_NAME: Final = ResourceSecurity(exempt_params={"conversation"})
"""A conversation may be called like a path: its name is hashed before it meets the disk."""


def add_resources(server: MCPServer[Any], workplace: Workplace) -> None:
    """Register the resources. Prompts are listed one by one by `list_prompt_resources`."""
    shelf = _Shelf(workplace)

    def add(uri: str, name: str, mime_type: str) -> Any:
        return server.resource(
            uri, name=name, title=name.capitalize(), mime_type=mime_type, security=_ANY_NAME
        )

    add(CONTEXT, "context", _JSON)(shelf.context)
    add(CONVERSATION, "context of a conversation", _JSON)(shelf.conversation)
    add(PROMPTS, "prompts", _JSON)(shelf.prompts)
    add(PROMPT, "prompt file", _MARKDOWN)(shelf.prompt)
    add(INTENTS, "intents", _JSON)(shelf.intents)
    add(INTENT, "intent", _JSON)(shelf.intent)


def list_prompt_resources(workplace: Workplace) -> list[Resource]:
    """List the prompt files, so that they can be picked without knowing their names."""
    return [
        Resource(
            uri=f"{PROMPTS}/{quote(prompt.name, safe='')}",
            name=prompt.name,
            title=title(prompt.name),
            description=prompt.description,
            mime_type=_MARKDOWN,
        )
        for prompt in workplace.library().prompts()
    ]


class _Shelf:
    """The functions behind the resources; their docstrings are the descriptions."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def context(self) -> str:
        """The last messages of the workspace's conversation, oldest first."""
        return self._context(None)

    def conversation(self, conversation: str) -> str:
        """The last messages of one conversation, oldest first."""
        return self._context(conversation)

    def prompts(self) -> str:
        """The prompt files of the workspace: name, intent, description and place."""
        return _json([_summary(prompt) for prompt in self._workplace.library().prompts()])

    def prompt(self, name: str) -> str:
        """The body of a prompt file, before anything is filled in."""
        return self._workplace.library().get(name).body

    def intents(self) -> str:
        """The intents by priority, and the agent of each."""
        agents = self._workplace.library().agents()
        return _json({agent.intent: agent.name for agent in agents})

    def intent(self, intent: str) -> str:
        """One intent: its agent, when it is meant, and messages that mean it."""
        agent = self._workplace.agent_of(intent)
        return _json({**_summary(agent), "examples": list(agent.examples)})

    def _context(self, conversation: str | None) -> str:
        loaded = self._workplace.journal(conversation).load()
        return _json(ContextView.of(loaded, conversation=conversation).model_dump())


def _summary(prompt: PromptFile) -> dict[str, object]:
    return {
        "name": prompt.name,
        "intent": prompt.intent,
        "description": prompt.description,
        "ref": prompt.ref,
    }


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
