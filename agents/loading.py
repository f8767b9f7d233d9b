"""An agent of a workspace by its name: with its prompt file, its tools and the user's model."""

from collections.abc import Iterable
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever

from kds.agents.agent import Agent
from kds.agents.models import checked_model, load_chat_model
from kds.agents.run import AgentRunnable
from kds.agents.tools import AnyTool, built_in_tools
from kds.brain.documents.store import DocumentPlace
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary

Place = Workspace | Path | str | None
"""A workspace, or the folder of one; None: the one that the current folder is in."""


def load(
    name: str,
    workspace: Place = None,
    model: BaseChatModel | str | None = None,
    *,
    tools: Iterable[AnyTool] = (),
    documents: BaseRetriever | None = None,
) -> AgentRunnable:
    """The agent of an intent ("PLAN"), or of a prompt file ("work-planner"), ready to run.

    ``model`` is a chat model of LangChain, or the name of one as in KDS_MODEL; None is the one
    that the user's settings name, if any. ``tools`` are those of your own that the prompt file
    names. ``documents`` is what its `search_documents` searches; None: what `kds docs` indexed.
    Raises DispatchError, ConfigError, WorkspaceError and ModelError.
    """
    place = Workspace.at(workspace)
    settings = load_settings(place).model
    checked_model(model)
    if isinstance(model, str):
        settings, model = settings.model_copy(update={"name": model}), None
    if model is None:
        model = load_chat_model(settings)
    library = PromptLibrary.load(place.prompts_dir)
    own = built_in_tools(
        memory=MemoryPlace.of(place), documents=documents or DocumentPlace.of(place)
    )
    return Agent.named(name, library, workspace=str(place.root)).as_runnable(
        model, tools=(*own, *tools), timeout_s=settings.timeout_s
    )


def names(workspace: Place = None) -> tuple[str, ...]:
    """The names of the agents of a workspace, by priority. Raises ConfigError, WorkspaceError."""
    library = PromptLibrary.load(Workspace.at(workspace).prompts_dir)
    return tuple(prompt.name for prompt in library.agents())
