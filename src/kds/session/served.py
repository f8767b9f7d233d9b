"""What has come of an exchange so far: a value, and how what an agent says changes it."""

from dataclasses import dataclass, replace
from typing import Final

from kds.agents.model_error import ModelError
from kds.agents.reply import AgentReply
from kds.brain.context.work import Offer
from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.session.answer import Answer
from kds.session.course import MAX_CHAIN, Course
from kds.session.opening import Opening
from kds.session.run import AgentRun

BETWEEN: Final = "\n\n"
"""Between the replies of two agents, and before a question."""


@dataclass(frozen=True, slots=True)
class Served:
    """The replies to one message, and what they lead to."""

    replies: tuple[AgentReply, ...] = ()
    chain: tuple[str, ...] = ()
    """Intents that served this piece of work."""
    offers: tuple[Offer, ...] = ()
    notes: tuple[str, ...] = ()
    question: str | None = None
    error: KdsError | None = None
    forgot: bool = False
    """Whether nothing of it is to be remembered: AMNESIA was served."""

    @property
    def said(self) -> str:
        """What agents have answered."""
        return BETWEEN.join(reply.text for reply in self.replies if reply.answered)

    def noted(self, *notes: str) -> "Served":
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def replied(self, reply: AgentReply, course: Course) -> "Served":
        """The same with the whole reply of an agent, and where that leads."""
        error = None
        if reply.answered and not (reply.text.strip() or reply.handoffs or reply.data):
            # No answer at all: the same as a model that fails, and it can be asked again.
            hint = "try again, or another model"
            error = ModelError(f"{reply.model} gave no text", kind="garbage", hint=hint)
            reply = replace(reply, text=reply.prompt, answered=False)
        return replace(
            self.noted(*(f"{reply.agent}: {note}" for note in reply.notes)),
            replies=(*self.replies, reply),
            offers=course.offers(self.chain[-1], reply),
            error=error,
        )

    def broken_off(self, run: AgentRun, turn: Turn) -> "Served":
        """The same with what there is of a reply that did not come to its end."""
        note = f"{run.agent}: {run.error.message}" if run.error else f"halted: {run.agent}"
        text = run.text if run.text.strip() else turn.prompt
        reply = AgentReply(run.agent, turn.intent, text, turn.prompt, turn, notes=(note,))
        return replace(self.noted(note), replies=(*self.replies, reply), error=run.error)

    def next_offer(self, course: Course) -> Offer | None:
        """The agent that takes over by itself, when the work is to be followed."""
        offer = course.next_offer(self.chain[-1], self.offers, self.chain)
        if offer is None or len(self.chain) >= MAX_CHAIN or course.must_confirm(offer.intent):
            return None
        return offer

    def as_answer(
        self, opening: Opening, course: Course, *, halted: bool, session: str | None
    ) -> Answer:
        """All of it, for the user."""
        says = self.question or ("" if opening.legs else opening.says)
        texts = (*(reply.text for reply in self.replies), says)
        return Answer(
            turn=opening.turn,
            replies=self.replies,
            text=BETWEEN.join(filter(None, texts)),
            question=self.question,
            handoffs=() if self.error or halted else self._next_first(course),
            notes=tuple(dict.fromkeys(self.notes)),
            halted=halted,
            stopped=opening.stopped,
            error=self.error,
            session=session,
        )

    def _next_first(self, course: Course) -> tuple[Offer, ...]:
        if not self.replies:
            return self.offers
        first = course.next_offer(self.replies[-1].intent, self.offers, self.chain)
        others = tuple(one for one in self.offers if one != first)
        return self.offers if first is None else (first, *others)
