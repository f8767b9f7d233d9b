"""The answer to a message, and what is shown beside its text: how it was answered, and why so.

`Outcome` is told of an `Answer` that has just come, and of what is kept of it (`Details`), alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kds.agents.agent import AgentReply
from kds.agents.prompting import memory_note
from kds.brain.context.work import Halted, Offer
from kds.brain.errors import DispatchError, KdsError, StoreError
from kds.brain.memory.memory import Citations, MemoryPassage, PromptMemory
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages.details import AnswerDetails, Details, Fault, Quote
from kds.brain.passages.values import Message
from kds.brain.turn import Turn
from kds.router.discourse.reply import closing_question, proposes
from kds.router.prompts.library import PromptLibrary


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
        return proposal_of(self.replies)

    def as_dict(self) -> Mapping[str, object]:
        """The answer as JSON values, as `kds ask --json` prints it."""
        error, stopped = self.error, self.stopped
        replies = (reply.as_dict().items() for reply in self.replies)
        return {
            "turn": dict(self.turn.as_dict()),
            "text": self.text,
            "question": self.question,
            "answered": self.answered,
            "replies": [{key: value for key, value in one if key != "turn"} for one in replies],
            "handoffs": [
                {"intent": one.intent, "agent": one.agent, "reason": one.reason}
                for one in self.handoffs
            ],
            "halted": self.halted,
            "stopped": stopped
            and {"agents": list(stopped.agents), "dropped": list(stopped.dropped)},
            "notes": list(self.notes),
            "error": error and {"message": error.message, "where": error.where, "hint": error.hint},
            "session": self.session,
        }


def proposal_of(replies: tuple[AgentReply, ...]) -> str:
    """What the last of ``replies`` proposes at its end; "" when it proposes nothing."""
    if not replies or not replies[-1].answered:
        return ""
    asked = closing_question(replies[-1].text)
    return asked if proposes(asked) else ""


@dataclass(frozen=True, slots=True)
class GivenPrompt:
    """What an agent gave in place of an answer; "": its text is not kept."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a message was answered, beside the text of the replies."""

    notes: tuple[str, ...] = ()
    error: Fault | None = None
    prompts: tuple[GivenPrompt, ...] = ()
    proposal: bool = False

    def __bool__(self) -> bool:
        return bool(self.notes or self.error or self.prompts)


UNANSWERED: Final = Outcome()


@dataclass(frozen=True, slots=True)
class Reason:
    """A line of "Why"; with ``quote``, what ``message`` said and the prompt quoted."""

    text: str
    quote: str = ""
    message: Message | None = None


def fault_of(error: KdsError | None) -> Fault | None:
    """An error as it is kept."""
    return None if error is None else Fault(error.message, error.where, error.hint)


def outcome_of(answer: Answer) -> Outcome:
    """The outcome of an answer that has just come."""
    silent = () if answer.halted else (one for one in answer.replies if not one.answered)
    prompts = tuple(GivenPrompt(one.agent, one.prompt) for one in silent)
    return _outcome(fault_of(answer.error), answer.notes, prompts, bool(answer.proposal))


def outcome_kept(store: MemoryStore, library: PromptLibrary, details: Details) -> Outcome:
    """The outcome of the last answer that is kept of a turn."""
    if not details.answers:
        return UNANSWERED
    answer = details.answers[-1]
    silent = () if answer.halted else (one for one in answer.agents if not one.answered)
    texts = ((one.agent, one.prompt or details.turn.prompt) for one in silent)
    prompts = (GivenPrompt(agent, _whole(store, library, text, answer)) for agent, text in texts)
    return _outcome(answer.error, answer.notes, tuple(prompts), answer.proposal)


def reasons(store: MemoryStore, details: Details) -> Iterator[Reason]:
    """Why a message was understood and answered as it was."""
    cite = Citations(store)
    yield from map(Reason, details.turn.why)
    for answer in details.answers:
        for line in answer.profile:
            yield Reason(f"the prompt had from your profile: {line}")
        for one in answer.quotes:
            message, text = _quoted(store, one)
            cited = f"quoted from {cite(message)}" if message else "quoted what is erased by now"
            yield Reason(f"the prompt {cited}", text, message)
        for agent in answer.agents:
            for tool in agent.tools:
                failed = ", which failed" if tool.failed else ""
                yield Reason(f"{agent.agent} used {tool.name} {tool.arguments}{failed}")
            if agent.answered:
                model = f" with {agent.model}" if agent.model else ""
                tokens = f", {agent.tokens:,} tokens" if agent.tokens else ""
                yield Reason(f"{agent.agent} answered{model}{tokens}")
        yield Reason(f"answered in {answer.ms / 1000:.1f} s")


def _outcome(
    error: Fault | None, notes: tuple[str, ...], prompts: tuple[GivenPrompt, ...], proposal: bool
) -> Outcome:
    """Of the notes those that say more than the error does."""
    beside = tuple(one for one in notes if error is None or error.message not in one)
    return Outcome(beside, error, prompts, proposal)


def _whole(store: MemoryStore, library: PromptLibrary, prompt: str, answer: AnswerDetails) -> str:
    """A prompt with what the memory had added to it."""
    if not prompt or answer.error:
        return prompt
    quoted, cite = (_quoted(store, one) for one in answer.quotes), Citations(store)
    passages = tuple(MemoryPassage(cite(one), text) for one, text in quoted if one)
    try:
        note = memory_note(library, PromptMemory(answer.profile, passages))
    except DispatchError:  # a prompt file that is gone since
        note = ""
    return f"{prompt}\n\n{note}" if note else prompt


def _quoted(store: MemoryStore, quote: Quote) -> tuple[Message | None, str]:
    try:
        message = store.message(quote.message)
    except StoreError:
        return None, ""
    return message, message.content[quote.start : quote.start + quote.length]
