"""What a session answers: the replies of the agents to one message, and what may come next."""

from collections.abc import Mapping
from dataclasses import dataclass

from kds.agents.reply import AgentReply
from kds.brain.context.work import Halted, Offer
from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.router.discourse.reply import closing_question, proposes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one message.

    ``text`` is what the user reads: the replies one after the other; a question; or, where no
    model answers, the rendered prompt. ``question`` is set when KDS waits for an answer: to
    choose what was meant, or to confirm. ``notes`` say what else happened.
    """

    turn: Turn
    replies: tuple[AgentReply, ...] = ()
    text: str = ""
    question: str | None = None
    handoffs: tuple[Offer, ...] = ()
    """Agents that may go on with the work; `Session.hand_over` takes the first, and so does
    "go ahead" unless there is a `proposal`."""
    notes: tuple[str, ...] = ()
    halted: bool = False
    """Whether a correction or the user stopped this answer: the last reply is only a beginning."""
    stopped: Halted | None = None
    """What this message halted, if it was a correction."""
    error: KdsError | None = None
    """Why the last agent has no (whole) reply; its message is kept, and can be asked again."""
    session: str | None = None
    """Under which id the conversation is remembered; None: the memory is off."""

    @property
    def answered(self) -> bool:
        """Whether every agent that was asked has answered, by a model."""
        return bool(self.replies) and all(reply.answered for reply in self.replies)

    @property
    def proposal(self) -> str:
        """What the last reply proposes at its end, which "yes" or "go ahead" takes; else ""."""
        if not self.replies or not self.replies[-1].answered:
            return ""
        asked = closing_question(self.replies[-1].text)
        return asked if proposes(asked) else ""

    def as_dict(self) -> Mapping[str, object]:
        """The answer as JSON values, as `kds ask --json` prints it."""
        return {
            "turn": dict(self.turn.as_dict()),
            "text": self.text,
            "question": self.question,
            "answered": self.answered,
            "replies": [_reply(reply) for reply in self.replies],
            "handoffs": [
                {"intent": one.intent, "agent": one.agent, "reason": one.reason}
                for one in self.handoffs
            ],
            "halted": self.halted,
            "stopped": None if self.stopped is None else {
                "agents": list(self.stopped.agents), "dropped": list(self.stopped.dropped),
            },
            "notes": list(self.notes),
            "error": None if self.error is None else {
                "message": self.error.message, "where": self.error.where, "hint": self.error.hint,
            },
            "session": self.session,
        }  # fmt: skip


def _reply(reply: AgentReply) -> dict[str, object]:
    """A reply without its turn, which is that of the answer but for what `intent` says."""
    return {key: value for key, value in reply.as_dict().items() if key != "turn"}
