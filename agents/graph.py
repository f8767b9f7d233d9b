"""The router and the agents as nodes of a LangGraph graph.

    graph = StateGraph(AgentState)
    graph.add_node("router", router_node(kds.Router.open().route))
    graph.add_node("work-planner", agent_node("PLAN"))
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", intent_of, {"PLAN": "work-planner", ...})

Nothing here needs LangGraph itself: nodes are Runnables from a state to what changes in it.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from kds.agents.loading import load
from kds.agents.reply import AgentReply
from kds.agents.run import AgentRunnable
from kds.agents.runnable import message_text
from kds.brain.turn import UNKNOWN, Turn

END: Final = "__end__"
"""Where a LangGraph graph ends."""

State = Mapping[str, Any]
Update = dict[str, Any]


class AgentState(TypedDict, total=False):
    """The keys that the nodes read and write. A state of your own may have others besides.

    `message` is the only one to be given.
    """

    message: str
    """What the user wrote. A state with `messages` may do without: the last human one counts."""
    turn: Turn
    """Written by the router; read by agents, which render it again if it is another agent's."""
    intent: str
    """The intent of the turn; UNKNOWN when the router asks back or abstains."""
    reply: AgentReply
    """Written by an agent: the newest reply."""
    replies: Annotated[list[AgentReply], operator.add]
    """Every reply, in order."""


def router_node(route: Callable[[str], Turn], *, name: str = "router") -> Runnable[State, Update]:
    """A node that routes the message of a state: writes `turn` and `intent`.

    ``route`` is `kds.Router.route`, or any function like it. Raises what it raises, and
    MessageError for a state without a message.
    """

    def node(state: State) -> Update:
        turn = route(message_text(state))
        intent = turn.intent if turn.action == "route" else UNKNOWN
        return {"turn": turn, "intent": intent}

    return RunnableLambda(node, name=name)


def agent_node(agent: AgentRunnable | str, **options: Any) -> Runnable[State, Update]:
    """A node that runs an agent on the `turn` of a state, or else on its message.

    Writes `reply` and `replies`, and the text to `messages` when a model has answered. A name is
    loaded as `kds.agents.load` does, with the same ``options``. Raises what the agent raises.
    """
    loaded = load(agent, **options) if isinstance(agent, str) else agent

    def node(state: State, config: RunnableConfig) -> Update:
        return _update(loaded.invoke(_given(state), config))

    async def anode(state: State, config: RunnableConfig) -> Update:
        return _update(await loaded.ainvoke(_given(state), config))

    return RunnableLambda(node, anode, name=loaded.agent.name)


def intent_of(state: State) -> str:
    """The intent that the router found: for the conditional edges behind it."""
    return str(state.get("intent") or UNKNOWN)


def handoff_of(state: State) -> str:
    """The intent that the newest reply hands on to, or END: for the edges behind an agent."""
    reply = state.get("reply")
    handoffs = reply.handoffs if isinstance(reply, AgentReply) else ()
    return handoffs[0].intent if handoffs else END


def _given(state: State) -> Turn | str:
    turn = state.get("turn")
    return turn if isinstance(turn, Turn) else message_text(state)


def _update(reply: AgentReply) -> Update:
    said = [AIMessage(reply.text, name=reply.agent)] if reply.answered else []
    return {"reply": reply, "replies": [reply], "messages": said}
