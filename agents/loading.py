"""An agent of a workspace by its name: with its prompt file, its tools and the user's model."""

import os
from collections.abc import Iterable
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from kds.agents.agent import Agent
from kds.agents.models import checked_model, load_chat_model, model_timeout
from kds.agents.reply import AgentReply
from kds.agents.run import AgentRunnable
from kds.agents.tools import AnyTool, built_in_tools
from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import KdsError, WorkspaceError
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
    place = _workspace(workspace)
    settings = load_settings(place).model
    checked_model(model)
    own_limit = None if isinstance(model, str) else model_timeout(model)
    if isinstance(model, str):
        settings = settings.model_copy(update={"name": model})
    if model is None or isinstance(model, str):
        model = load_chat_model(settings, environ=os.environ)
    library = PromptLibrary.load(place.prompts_dir)
    own = built_in_tools(
        memory=MemoryPlace.of(place), documents=documents or DocumentPlace.of(place)
    )
    return Agent.named(name, library, workspace=str(place.root)).as_runnable(
        model, tools=(*own, *tools), timeout_s=own_limit or settings.timeout_s
    )


def names(workspace: Place = None) -> tuple[str, ...]:
    """The names of the agents of a workspace, by priority. Raises ConfigError, WorkspaceError."""
    library = PromptLibrary.load(_workspace(workspace).prompts_dir)
    return tuple(prompt.name for prompt in library.agents())


class AgentCall(BaseModel):
    """The arguments of an agent as a tool."""

    message: str = Field(
        description="what is wanted, in full: the agent knows nothing of this conversation",
        min_length=1,
    )


def as_tool(
    agent: AgentRunnable | str,
    workspace: Place = None,
    model: BaseChatModel | str | None = None,
    *,
    tools: Iterable[AnyTool] = (),
    documents: BaseRetriever | None = None,
) -> BaseTool:
    """An agent as a LangChain tool: a message in, the text of its reply out.

    The AgentReply is the artifact of the ToolMessage. What goes wrong is told to the caller's
    model, as text with the status "error". Options and errors on loading as for `load`.
    """
    loaded = (
        load(agent, workspace, model, tools=tools, documents=documents)
        if isinstance(agent, str)
        else agent
    )

    def run(message: str, config: RunnableConfig) -> tuple[str, AgentReply]:
        try:
            reply = loaded.invoke(message, config)
        except KdsError as error:
            raise ToolException(str(error)) from error
        return reply.text, reply

    async def arun(message: str, config: RunnableConfig) -> tuple[str, AgentReply]:
        try:
            reply = await loaded.ainvoke(message, config)
        except KdsError as error:
            raise ToolException(str(error)) from error
        return reply.text, reply

    return StructuredTool.from_function(
        run,
        arun,
        name=loaded.agent.name,
        description=loaded.agent.prompt.description,
        args_schema=AgentCall,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _workspace(place: Place) -> Workspace:
    if isinstance(place, Workspace):
        return place
    if place is None:
        return Workspace.find()
    if not Path(place).is_dir():
        raise WorkspaceError("no such folder", where=str(place), hint="make it, or check the path")
    return Workspace.find(environ={"KDS_HOME": str(place)})
