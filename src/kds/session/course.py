"""Where the work goes: which agents serve a message, which must be confirmed, which may follow.

Everything here is decided from the prompt files and what was said; nobody is asked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from kds.agents.agent import Agent
from kds.agents.reply import AgentReply
from kds.brain.context.work import Offer
from kds.brain.message import one_line
from kds.brain.turn import UNKNOWN, Turn
from kds.router.prompts.library import PromptLibrary

AMNESIA: Final = "AMNESIA"
"""The one intent that is known by name here: what follows a yes is done by KDS itself, not by a
model that follows a prompt, so no prompt file can say it (`kds.session.confirmed_amnesia`)."""

MAX_CHAIN: Final = 5
"""Agents that serve one message without the user saying anything: PLAN, EXECUTE, TEST and two
more of a project's own."""

_QUOTED: Final = 80


@dataclass(frozen=True, slots=True)
class Course:
    """The agents of one workspace, and the rules of passing work on."""

    library: PromptLibrary
    workspace: str

    def agent(self, intent: str) -> Agent:
        """The agent of an intent. Raises DispatchError."""
        return Agent.for_intent(intent, self.library, workspace=self.workspace)

    def must_confirm(self, intent: str) -> bool:
        """Tell whether the user has to say yes before the agent of ``intent`` begins."""
        return intent in _always_confirmed() or self.agent(intent).prompt.confirm

    def corrects(self, intent: str) -> bool:
        """Tell whether messages of ``intent`` say that something is wrong."""
        return intent in self.library.corrections()

    def question(self, intent: str, turn: Turn, detail: str = "") -> str:
        """The question for confirmation: what will happen, and what the message was."""
        agent = self.agent(intent)
        said = one_line(turn.expanded or turn.message)
        quoted = said if len(said) <= _QUOTED else f"{said[: _QUOTED - 1].rstrip()}…"
        happens = f'"{quoted}" goes to {agent.name}: {agent.prompt.description}'
        asks = f"Shall it {agent.prompt.phrase}? Yes does it; anything else drops it."
        return "\n".join(filter(None, (happens, detail, asks)))

    def turn_for(self, turn: Turn, intent: str, rest: Sequence[str] = ()) -> Turn:
        """``turn`` as the agent of ``intent`` gets it, with its prompt; ``rest`` comes later."""
        agent = self.agent(intent)
        mine = replace(
            turn,
            intent=intent,
            confidence=turn.confidence if turn.intent == intent else 1.0,
            alternatives=turn.alternatives if turn.intent == intent else (),
            secondary_intents=tuple(rest),
            action="abstain" if intent == UNKNOWN else "route",
            agent=agent.name,
            prompt_file=agent.prompt.ref,
        )
        return replace(mine, prompt=agent.render(mine))

    def offers(self, intent: str, reply: AgentReply | None = None) -> tuple[Offer, ...]:
        """Where the work of an agent may go next: what its model chose, then its prompt file."""
        chosen = {one.intent: one.reason for one in (reply.handoffs if reply else ())}
        # What UNKNOWN could hand on to is every agent: nothing that is worth an offer.
        listed = () if intent == UNKNOWN else self.agent(intent).prompt.handoffs
        names = dict.fromkeys((*chosen, *listed))
        return tuple(
            Offer(one, self.agent(one).name, chosen.get(one, ""), chosen=one in chosen)
            for one in names
        )

    def next_offer(
        self, intent: str, offers: Iterable[Offer], chain: Sequence[str]
    ) -> Offer | None:
        """The offer that "go ahead" takes, or None: what was served before is not served again.

        A correction is never next: only the user can say that something is wrong.
        """
        for offer in offers:
            if offer.intent in chain or self.corrects(offer.intent):
                continue
            if offer.chosen or not self._only_looks(intent):
                return offer
        return None

    def _only_looks(self, intent: str) -> bool:
        """Whether the agent changes nothing. Its work does not go on by itself: a question is no
        order to build, so "go ahead" after one means what the router makes of it."""
        prompt = self.library.for_intent(intent)
        return prompt is not None and prompt.only_looks


@cache
def _always_confirmed() -> frozenset[str]:
    """Confirmed whatever the prompt files of a project say (issue 6): what the packaged ones ask
    for. What cannot be taken back must not begin because a cloned file leaves out one line."""
    agents = PromptLibrary.load().agents()
    return frozenset(agent.intent for agent in agents if agent.intent and agent.confirm)
