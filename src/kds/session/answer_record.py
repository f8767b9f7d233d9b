"""What is shown of a turn beside its texts: how it was answered, and why so.

Both are told of an `Answer` that has just come, and of what is kept of it (`Details`), alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kds.agents.quotation import memory_note
from kds.brain.errors import DispatchError, StoreError
from kds.brain.memory.memory import Citations, MemoryPassage, PromptMemory
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages.details import AnswerDetails, Details, Fault, Quote
from kds.brain.passages.values import Message
from kds.router.prompts.library import PromptLibrary
from kds.session.exchange import Answer


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


def outcome_of(answer: Answer) -> Outcome:
    """The outcome of an answer that has just come."""
    error = answer.error
    prompts = () if answer.halted else tuple(
        GivenPrompt(one.agent, one.prompt) for one in answer.replies if not one.answered
    )  # fmt: skip
    fault = None if error is None else Fault(error.message, error.where, error.hint)
    return Outcome(_beside(fault, answer.notes), fault, prompts, bool(answer.proposal))


def outcome_kept(store: MemoryStore, library: PromptLibrary, details: Details) -> Outcome:
    """The outcome of the last answer that is kept of a turn."""
    if not details.answers:
        return UNANSWERED
    answer = details.answers[-1]
    prompts = () if answer.halted else tuple(
        GivenPrompt(one.agent, _whole(store, library, one.prompt or details.turn.prompt, answer))
        for one in answer.agents if not one.answered
    )  # fmt: skip
    return Outcome(_beside(answer.error, answer.notes), answer.error, prompts, answer.proposal)


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
        yield from _work(answer)


def _work(answer: AnswerDetails) -> Iterator[Reason]:
    for one in answer.agents:
        for tool in one.tools:
            failed = ", which failed" if tool.failed else ""
            yield Reason(f"{one.agent} used {tool.name} {tool.arguments}{failed}")
        if one.answered:
            model = f" with {one.model}" if one.model else ""
            tokens = f", {one.tokens:,} tokens" if one.tokens else ""
            yield Reason(f"{one.agent} answered{model}{tokens}")
    yield Reason(f"answered in {answer.ms / 1000:.1f} s")


def _beside(error: Fault | None, notes: tuple[str, ...]) -> tuple[str, ...]:
    """The notes that say more than the error does."""
    return tuple(one for one in notes if error is None or error.message not in one)


def _whole(store: MemoryStore, library: PromptLibrary, prompt: str, answer: AnswerDetails) -> str:
    """A prompt with what the memory had added to it."""
    if not prompt or answer.error:
        return prompt
    quoted, cite = (_quoted(store, one) for one in answer.quotes), Citations(store)
    passages = (MemoryPassage(cite(one), text) for one, text in quoted if one)
    try:
        note = memory_note(library, PromptMemory(answer.profile, tuple(passages)))
    except DispatchError:  # a prompt file that is gone since
        note = ""
    return f"{prompt}\n\n{note}" if note else prompt


def _quoted(store: MemoryStore, quote: Quote) -> tuple[Message | None, str]:
    try:
        message = store.message(quote.message)
    except StoreError:
        return None, ""
    return message, message.content[quote.start : quote.start + quote.length]
