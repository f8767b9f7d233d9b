"""The tools that a prompt file may name: a few that come with KDS, and the user's own.

Those that come with KDS read what is on this machine, and change nothing. Tools are never
found by themselves: the code that runs an agent passes them.

read_conversation   what the user said before in this conversation
search_memory       passages of past conversations, where a memory is kept
search_documents    passages of the indexed documents, where there are any
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import DispatchError
from kds.brain.memory.memory_store import MemoryPlace, log_recall
from kds.brain.passages.recall import assemble, recall
from kds.brain.passages.values import Passage
from kds.brain.settings import load_settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import nearest
from kds.router.prompts.promptfile import PromptFile

READ_CONVERSATION: Final = "read_conversation"
SEARCH_MEMORY: Final = "search_memory"
SEARCH_DOCUMENTS: Final = "search_documents"

BUILT_IN: Final[Mapping[str, str]] = {
    SEARCH_MEMORY: "no memory is kept",
    SEARCH_DOCUMENTS: "no documents are indexed",
}
"""Searches that any prompt file may name, and the note where one is not available."""

SURFACE: Final = "agent"
"""What `kds metrics` calls a recall of an agent."""

PASSAGE_CHARS: Final = 1200
"""Characters of one passage that a model reads; a chunk of the memory has up to 800."""

MOST_PASSAGES: Final = 20

Query = Annotated[str, Field(description="what to look for, in a few words", max_length=2000)]
Limit = Annotated[int, Field(description="how many passages at most", ge=1, le=MOST_PASSAGES)]


def workspace_tools(workspace: Workspace) -> tuple[BaseTool, ...]:
    """The tools of KDS over the memory and the documents of ``workspace``, if there are any yet."""
    budget_tokens = load_settings(workspace).recall.token_budget
    return (
        _search_memory(MemoryPlace.of(workspace), budget_tokens),
        _search_documents(DocumentPlace.of(workspace)),
    )


def chosen_tools(
    prompt: PromptFile, tools: Iterable[object]
) -> tuple[dict[str, BaseTool], tuple[str, ...]]:
    """The tools that ``prompt`` names, by name; and notes on those that are not there.

    Raises DispatchError for anything but a tool, and, with the line of the file, for an
    unknown name.
    """
    known: dict[str, BaseTool] = {}
    for tool in tools:
        if not isinstance(tool, BaseTool):
            hint = "pass the tool itself, such as a function under `@tool` of langchain_core.tools"
            raise DispatchError(f"not a tool: {type(tool).__name__}", hint=hint)
        known[tool.name] = tool
    names = sorted({*known, READ_CONVERSATION, *BUILT_IN})
    for index, name in enumerate(prompt.tools):
        if name not in names:
            near, given = nearest(name, names), ", ".join(names)
            raise DispatchError(
                f"agent {prompt.name} names the tool '{name}', which was not passed",
                where=prompt.front.where(("tools", index)),
                hint=f"did you mean {near}?"
                if near
                else f"pass it with tools=..., or use: {given}",
            )
    missing = [name for name in prompt.tools if name in BUILT_IN and name not in known]
    chosen = {name: known[name] for name in prompt.tools if name in known}
    return chosen, tuple(f"no tool {name}: {BUILT_IN[name]}" for name in missing)


def conversation_tool(turn: Turn) -> BaseTool:
    """The tool that reads the conversation of ``turn``."""

    def read_conversation() -> str:
        """Read what the user said before in this conversation, oldest first."""
        lines = [
            f"{entry.timestamp:%Y-%m-%d %H:%M} {entry.intent}: {entry.user_message}"
            for entry in turn.context
        ]
        return "\n".join(lines) or "nothing was said before"

    return StructuredTool.from_function(read_conversation, name=READ_CONVERSATION)


def _search_memory(place: MemoryPlace, budget_tokens: int) -> BaseTool:
    def search_memory(query: Query, limit: Limit = 5) -> str:
        """Search past conversations for passages about something."""
        with place.if_any() as store:
            if store is None:
                return "nothing is remembered yet"
            found = log_recall(store, recall(store, query, limit=limit), surface=SURFACE)
        text = assemble(query, found.hits, budget_tokens=budget_tokens, quote=_passage).text
        return text or "nothing was found"

    return StructuredTool.from_function(search_memory, name=SEARCH_MEMORY)


def _passage(passage: Passage) -> str:
    speaker = passage.speaker or passage.role
    return f"[{passage.at:%Y-%m-%d}, {speaker}] {passage.body[:PASSAGE_CHARS]}"


def _search_documents(place: DocumentPlace) -> BaseTool:
    def search_documents(query: Query, limit: Limit = 5) -> str:
        """Search the user's documents for passages about something; cite what you use."""
        with place.if_any() as store:
            if store is None:
                return "no documents are indexed yet"
            hits = store.search(query, limit=limit).hits
        quoted = (f"[{one.citation}] {one.passage.text[:PASSAGE_CHARS]}" for one in hits)
        return "\n\n".join(quoted) or "nothing was found"

    return StructuredTool.from_function(search_documents, name=SEARCH_DOCUMENTS)
