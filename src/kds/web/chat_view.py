"""A conversation as the page shows it, what KDS made of each message, and the list of sessions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlencode

from kds.activation import Entry
from kds.agents.prompting import prompt_with
from kds.api.turn_log import all_sessions, session_page
from kds.brain.context.work import Offer
from kds.brain.errors import DispatchError, StoreError
from kds.brain.learning.examples import LearnedExample
from kds.brain.learning.phrases import phrase_key
from kds.brain.memory.memory import Citations, MemoryPassage, PromptMemory
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.sessions import Session
from kds.brain.passages.details import AnswerDetails, Details, Fault, Quote, decode
from kds.brain.passages.passage_file import words_of
from kds.brain.passages.values import KDS, Message
from kds.brain.settings import LiveConfig
from kds.brain.turn import Reference, Turn
from kds.brain.workspace import Workspace
from kds.learning.teaching import learned_in
from kds.router.prompts.library import PromptLibrary
from kds.service.workspaces import ServedWorkspace
from kds.web.request_context import RequestContext
from kds.web.talks import Talk, Telling

PAGE: Final = 50
"""Messages of a page; a session may have ten thousand."""

SHOWN: Final = 30
"""Sessions of a page."""

FOUND: Final = 100
"""Sessions that a search shows at most."""

SHORT: Final = 120
"""Characters that are shown of what was said."""

ALIKE: Final = (1.0, 1.0, 0.0, 1.0)
"""Weights of the columns of a passage: heading and text count alike, the text beside does not."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a message; one that points back has a reference."""

    text: str
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """A line of "Why"; with ``quote``, what ``message`` said and the prompt quoted."""

    text: str
    quote: str = ""
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a message was answered, beside the text of the replies."""

    notes: tuple[str, ...] = ()
    error: Fault | None = None
    prompts: tuple[tuple[str, str], ...] = ()
    """Agents that gave their prompt in place of an answer, with its text; "": it is not kept."""
    proposal: bool = False

    def __bool__(self) -> bool:
        return bool(self.notes or self.error or self.prompts)


UNANSWERED: Final = Outcome()


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn beside its message; ``taught`` is the intent that the user has taught such messages
    to have."""

    turn: Turn
    why: tuple[Reason, ...] = ()
    taught: str = ""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The message in pieces; a reference within another one is left to that."""
        message, spans, place = self.turn.message, list[Span](), 0
        for one in sorted(self.turn.references, key=lambda found: (found.start, -found.end)):
            if one.text and one.start >= place and message[one.start : one.end] == one.text:
                spans += Span(message[place : one.start]), Span(one.text, one)
                place = one.end
        return tuple(span for span in (*spans, Span(message[place:])) if span.text)


def choices_of(library: PromptLibrary, intents: tuple[str, ...] | None = None) -> dict[str, str]:
    """Intents in words: those of a question, or all that a message may have."""
    says = {one.intent: one.ask or one.description for one in library.agents() if one.intent}
    return {name: says.get(name) or name for name in (says if intents is None else intents) if name}


@dataclass(frozen=True, slots=True)
class Line:
    """A message as the page shows it. ``seq`` is its number in the session (0: it is not kept),
    ``view`` what KDS made of it; with ``outcome``, how the one before was answered."""

    role: str
    text: str
    seq: int = 0
    speaker: str | None = None
    view: TurnView | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands behind the last message."""

    telling: Telling | None = None
    """The last answer, if this service gave it."""
    running: bool = False
    """Whether it was on its way before the messages were read: if not, it is among them."""
    outcome: Outcome = UNANSWERED
    """How the last message was answered, if it was."""
    last: Line | None = None
    """The last message of the user: its reasons have grown with the answer."""
    confirm: bool = False
    """Whether something waits for a yes."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What a question of KDS gives to choose from."""
    offers: tuple[Offer, ...] = ()
    """Agents that may go on with the work."""
    again: bool = False
    """Whether the message can be answered once more."""
    broken: bool = False
    """Whether the service ended before it had answered."""
    fits: Entry | None = None
    """What may answer the message instead."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of a conversation. ``earlier``: the number of the message before which there are more;
    ``after``: that of the last one that there is; ``tail`` unless it is an earlier part."""

    lines: tuple[Line, ...] = ()
    earlier: int | None = None
    tail: Tail = field(default_factory=Tail)
    after: int = 0


def earlier_page(store: MemoryStore, talk: Talk, session: Session, before: int) -> Shown:
    """The messages before one of them, as many as a page holds."""
    messages = store.messages(session.id, last=PAGE, before_seq=before, details=True)
    lines, last = _lines(store, talk, messages)
    first = lines[0].seq if lines else 1
    return Shown((*lines, *_ending(last)), first if first > 1 else None)


def newest_page(store: MemoryStore, talk: Talk, session: Session, after: int = 0) -> Shown:
    """The newest messages, as many as a page holds, of those behind one that is shown already."""
    running = talk.running  # before they are read: if not, the answer is among them
    messages = store.messages(session.id, last=PAGE, details=True)
    lines, last = _lines(store, talk, messages)
    new = tuple(one for one in lines if one.seq > after)
    first = new[0].seq if new else 1
    end = messages[-1].seq if messages else after
    unanswered = bool(lines) and lines[-1].role == "user" and not running
    tail = tail_of(talk, running=running, last=last, unanswered=unanswered)
    return Shown(new, first if first > 1 and not after else None, tail, end)


def unkept(talk: Talk, said: str = "") -> Shown:
    """What was said last where the memory is off: the user's message, or the answers to it."""
    tail, turn = tail_of(talk, running=talk.running), talk.latest
    lines = [Line("user", said, view=_view(turn))] if said and turn is not None else []
    answer = None if tail.telling is None or tail.running else tail.telling.answer
    if answer is not None:
        said_by = [(one.text, one.agent) for one in answer.replies if one.answered]
        said_by += [(answer.question, KDS)] if answer.question else []
        lines += [Line("assistant", text, speaker=speaker) for text, speaker in said_by]
    return Shown(tuple(lines), tail=tail)


def tail_of(
    talk: Talk, *, running: bool, last: Line | None = None, unanswered: bool = False
) -> Tail:
    """What may come next. Raises StoreError when the work in progress cannot be read."""
    telling, work, latest = talk.telling, talk.session.work, talk.latest
    if latest is None and last and last.view:
        latest = last.view.turn
    asks = latest is not None and latest.action == "clarify" and not work.confirm
    library = talk.session.records.library
    outcome = last.outcome if last and last.outcome is not None else UNANSWERED
    if telling is not None and telling.answer is not None:
        answer = telling.answer
        outcome = outcome_of(answer.details(), (one.prompt for one in answer.replies))
    offers = tuple(one for one in work.offers if one.intent not in work.chain)
    begun = bool(work.turn and work.chain)
    broken = begun and unanswered and outcome == UNANSWERED
    return Tail(
        telling,
        running,
        outcome,
        last,
        confirm=bool(work.confirm),
        choices=choices_of(library, latest.candidates) if asks and latest else {},
        offers=() if outcome.error else offers,
        again=begun and bool(talk.session.model or broken),
        broken=broken,
        fits=talk.fits,
    )


def _lines(
    store: MemoryStore, talk: Talk, messages: Iterable[Message]
) -> tuple[list[Line], Line | None]:
    """The messages, the outcome of each behind the replies to it, and the user's last one."""
    lines: list[Line] = []
    last: Line | None = None
    taught = _taught(talk.session.workspace)
    for one in messages:
        if one.role == "user":
            lines += (replace(ending, seq=one.seq) for ending in _ending(last))
            last = _line(store, talk, one, taught.get(phrase_key(one.content), ""))
            lines.append(last)
        elif one.role != "system":
            lines.append(Line(one.role, one.content, one.seq, one.speaker))
    return lines, last


def _taught(workspace: Workspace) -> dict[str, str]:
    """The intents that were taught, by message; none when the file does not load."""
    learned, _ = learned_in(LiveConfig(workspace).current())
    examples = (one for one in learned if isinstance(one, LearnedExample))
    return {phrase_key(one.text): one.intent for one in examples}


def _line(store: MemoryStore, talk: Talk, message: Message, taught: str) -> Line:
    """A message of the user, with what is kept of its turn."""
    details = decode(message.details, message.content)
    if details is None:
        return Line(message.role, message.content, message.seq)
    view = TurnView(details.turn, tuple(_reasons(store, details)), taught)
    outcome = UNANSWERED
    if details.answers:
        answer, library = details.answers[-1], talk.session.records.library
        prompts = (one.prompt or details.turn.prompt for one in answer.agents)
        outcome = outcome_of(answer, (_whole(store, library, one, answer) for one in prompts))
    return Line(message.role, message.content, message.seq, view=view, outcome=outcome)


def outcome_of(answer: AnswerDetails, prompts: Iterable[str]) -> Outcome:
    """The outcome of an answer whose agents had ``prompts``: of the notes those that say more than
    the error does."""
    error = answer.error
    beside = tuple(one for one in answer.notes if error is None or error.message not in one)
    given = zip(answer.agents, prompts, strict=True)
    silent = () if answer.halted else ((one.agent, text) for one, text in given if not one.answered)
    return Outcome(beside, error, tuple(silent), answer.proposal)


def _whole(store: MemoryStore, library: PromptLibrary, prompt: str, answer: AnswerDetails) -> str:
    """A prompt with what the memory had added to it."""
    if not prompt or answer.error:
        return prompt
    quoted, cite = (_quoted(store, one) for one in answer.quotes), Citations(store)
    passages = tuple(MemoryPassage(cite(one), text) for one, text in quoted if one)
    try:
        return prompt_with(PromptMemory(answer.profile, passages), prompt, library)
    except DispatchError:  # a prompt file that is gone since
        return prompt


def _reasons(store: MemoryStore, details: Details) -> Iterator[Reason]:
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


def _quoted(store: MemoryStore, quote: Quote) -> tuple[Message | None, str]:
    try:
        message = store.message(quote.message)
    except StoreError:
        return None, ""
    return message, message.content[quote.start : quote.start + quote.length]


def _view(turn: Turn) -> TurnView:
    return TurnView(turn, tuple(map(Reason, turn.why)))


def _ending(line: Line | None) -> tuple[Line, ...]:
    """What stands behind the replies to a message."""
    return (Line("outcome", "", outcome=line.outcome),) if line and line.outcome else ()


@dataclass(frozen=True, slots=True)
class Sidebar:
    """What stands beside the chat: sessions, and where the next page of them begins; of those that
    were found by what was said in them, that."""

    sessions: tuple[Session, ...]
    search: str = ""
    earlier: int | None = None
    chosen: str | None = None
    offset: int = 0
    texts: Mapping[str, str] = field(default_factory=dict)

    def address(self, **asked: object) -> str:
        """What the address of a list asks for: of another page, or of this one again."""
        asked = {"session": self.chosen} | asked
        return urlencode({name: one for name, one in asked.items() if one})

    @property
    def mark(self) -> str:
        """Changes with the list: while it is the same, the list stays as it is, with its focus."""
        last = max((one.updated_at for one in self.sessions), default=None)
        return f"{last}, {sum(one.message_count + 1 for one in self.sessions)}"


async def sidebar(context: RequestContext, chosen: str | None = None) -> Sidebar:
    """The sessions that the address asks for; ``chosen`` is the one that is open."""
    search, offset = context.text("search").strip(), context.number("offset", 0)

    def read() -> Sidebar:
        if search:
            return found(context.served, search, chosen)
        store = context.served.memory_if_any()
        sessions, following = session_page(store, limit=SHOWN, offset=offset)
        return Sidebar(sessions, "", following, chosen, offset)

    return await context.archive(read)


def found(served: ServedWorkspace, search: str, chosen: str | None = None) -> Sidebar:
    """The sessions whose title or id has every word of ``search``, then those where it was said."""
    store, words = served.memory_if_any(), search.casefold().split()
    if store is None:
        return Sidebar((), search, None, chosen)

    def has_all(text: str) -> bool:
        return all(word in text.casefold() for word in words)

    every = {one.id: one for one in all_sessions(store)}
    names = [name for name, one in every.items() if has_all(f"{one.title} {name}")]
    hits = store.search_words(words_of(search), limit=FOUND, weights=ALIKE)
    texts: dict[str, str] = {}
    for passage in store.passages([*hits]):
        if has_all(passage.body):
            texts.setdefault(passage.session_id, " ".join(passage.body.split())[:SHORT])
    both = [every[name] for name in dict.fromkeys((*names, *texts)) if name in every]
    return Sidebar(tuple(both[:FOUND]), search, None, chosen, texts=texts)
