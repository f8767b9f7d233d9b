"""What a session remembers of its conversation: both sides, on by default.

What goes wrong with the memory is a note for the answer; it never costs a turn.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from kds.api.turn_log import LAST, TURN, TurnRecord, all_sessions, turn_metric
from kds.brain.clock import Clock, utc_now
from kds.brain.errors import ExposedError, KdsError
from kds.brain.memory.memory import MemoryPassage, PromptMemory
from kds.brain.memory.sessions import Session, new_id
from kds.brain.memory.summarizer import Summarizer
from kds.brain.passages.details import AnswerDetails, Details, Quote, decode, encode
from kds.brain.passages.values import KDS, Message, Role
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import nearest

Found = TypeVar("Found")

_CONTEXT_REACH: Final = 60
"""Messages among which the ten of the context are, with the replies to each."""

_LOOK_BACK: Final = 8
"""Messages in which the last reply is looked for: a user may have said some things since."""

_ID_PART: Final = 6
"""Characters of an id that name a session; tables show eight."""


@dataclass(frozen=True, slots=True)
class Said:
    """An earlier message as an agent gets to see it; ``speaker`` is the agent that said it."""

    role: Role
    text: str
    speaker: str | None = None

    def as_utterance(self) -> Utterance:
        """The same for a turn. A summary counts as the user's: it is not a reply."""
        return Utterance(self.text, "assistant" if self.role == "assistant" else "user")


class SessionMemory(TurnRecord):
    """The memory of one conversation, for any number of threads.

    `kds.api.conversations.Conversations` tells it of every turn in place of its `TurnLog`: the
    message goes to this session, whatever feature it is about.
    """

    surface = "chat"
    on_by_default = True

    def __init__(self, workspace: Workspace, *, clock: Clock = utc_now, keeps: bool = True) -> None:
        """Remember for ``workspace``; without ``keeps`` only look at what is there."""
        super().__init__(workspace, clock=clock)
        self.session: str | None = None
        """The id under which the conversation is remembered, once it is known."""
        self.title: str | None = None
        """What a session that begins here is called; None: as its first message says."""
        self.summarizer: Callable[[], Summarizer | None] = lambda: None
        """Finds the model that condenses what was said."""
        self._keeps = keeps
        self._notes: list[str] = []
        self._last: Said | None = None
        self._noted: tuple[str, Details] | None = None
        """The id of the message that was noted last, and what was made of it."""

    @property
    def enabled(self) -> bool:
        """Whether the settings have the memory on at this moment."""
        return self._tried("the memory is off", lambda: bool(self._opened().flags.enabled), False)

    def note(self, turn: Turn, conversation: str | None = None) -> None:
        """Remember what the user said, and measure the turn: before any model is asked."""

        def remember() -> None:
            store = self._opened().store
            store.metrics.add(TURN, turn_metric(turn, conversation), at=turn.at)
            details = self._said_here(Details(turn))
            stored = self._add("user", turn.message, at=turn.at, details=encode(details))
            self._noted = None if stored is None else (stored.id, details)

        self._noted = None
        self._kept("the message was not remembered", remember)

    def answered_by(self) -> Callable[[Turn, AnswerDetails], None]:
        """What keeps how the message that was noted last is answered, once that is known; after a
        handover the last one of the session is meant."""
        noted, self._noted = self._noted, None

        def keep(turn: Turn, answer: AnswerDetails) -> None:
            if (found := noted or self._last_noted()) is None:
                return
            message, details = found
            if (turn.at, turn.message) == (details.turn.at, details.turn.message):
                details = replace(details, turn=turn)  # with what was noted of it since
            kept = self._said_here(details.answered(answer))
            self._opened().store.describe(message, encode(kept))

        return lambda turn, answer: self._kept(
            "how it was answered is not kept", lambda: keep(turn, answer)
        )

    def reply(self, text: str, *, agent: str = KDS) -> None:
        """Remember what an agent said, or KDS itself.

        With the memory off only the newest reply of an agent is known, to this process.
        """
        if agent != KDS:
            self._last = Said("assistant", text, agent)
        if text.strip():
            self._kept(
                "the reply was not remembered", lambda: self._add("assistant", text, speaker=agent)
            )

    def close_turn(self, turn: Turn, answer: str, conversation: str | None = None) -> None:
        """Note what a turn referred to, with what was answered: later references look there."""
        self._kept(
            "what the turn referred to was not remembered",
            lambda: self._remember_terms(turn, conversation, answer),
        )

    def condense(self) -> None:
        """Make the summaries that are due: behind the answer, so that nobody waits for a model."""
        if session := self.session:
            self._kept("not summarised", lambda: self._opened().catch_up_later(session))

    def known(self, conversation: str | None = None) -> Sequence[str]:
        """What the conversation has referred to."""
        return self._found("routed without the memory", lambda: self._antecedents(conversation), [])

    def earlier(self, message: str) -> tuple[Said, ...]:
        """What was said before ``message``, within the budget of the settings; "": all of it."""

        def window() -> tuple[Said, ...]:
            sent = self._opened().window(self.session or "", message).messages
            before = sent[:-1] if message.strip() else sent
            return tuple(Said(one.role, one.content) for one in before)

        if self.session is None:
            return ()
        return self._found("asked without what was said before", window, ())

    def for_prompt(self, turn: Turn, earlier: Iterable[Said]) -> PromptMemory:
        """What the memory adds to the prompt of a turn, beside what was said ``earlier``."""
        said = (turn.message, *(one.text for one in earlier))
        return self._found(
            "asked without the memory",
            lambda: self._opened().for_prompt(turn.expanded or turn.message, said=said),
            PromptMemory(),
        )

    def quotes(self, passages: Iterable[MemoryPassage]) -> tuple[Quote, ...]:
        """Where passages that a prompt quotes stand in their messages."""

        def found() -> tuple[Quote, ...]:
            store = self._opened().store
            texts = ((one, store.message(one.message).content) for one in passages if one.message)
            return tuple(Quote(one.message, max(text.find(one.text), 0), len(one.text))
                         for one, text in texts)  # fmt: skip

        return self._found("what the prompt quoted is not kept", found, ())

    def last_reply(self) -> Said | None:
        """The last reply of an agent, whole; None when there is none."""

        def stored() -> Said | None:
            newest = reversed(self._newest(_LOOK_BACK, details=False))
            replies = (one for one in newest if one.role == "assistant" and one.speaker != KDS)
            found = next(replies, None)
            return Said("assistant", found.content, found.speaker) if found else None

        if self._last is not None or self.session is None:
            return self._last
        return self._found("the reply before was not found", stored, None)

    def sessions(self) -> tuple[Session, ...]:
        """Every session of the workspace, the one changed last first. Raises StoreError."""
        return all_sessions(self._opened().store) if self.exists and self.enabled else ()

    def find(self, name: str) -> Session | None:
        """The session that ``name`` names: its id, the beginning of that, its title, or `last`.

        A part of a title will not do: it may be meant for a new session.
        """
        found = self.sessions()
        if name == LAST:
            return found[0] if found else None
        wanted = name.casefold()
        ways: tuple[Callable[[Session], bool], ...] = (
            lambda one: one.id == name,
            lambda one: one.title.casefold() == wanted,
            lambda one: len(name) >= _ID_PART and one.id.startswith(name),
        )
        return next((one for fits in ways for one in found if fits(one)), None)

    def like(self, name: str) -> str | None:
        """The title that is most like ``name``, which may be a slip of it; None: there is none."""
        titles = {one.title.casefold(): one.title for one in self.sessions() if one.title}
        near = nearest(name.casefold(), titles)
        return None if near is None else titles[near]

    def new_session(self) -> str | None:
        """An id for a session that begins with its first message; None with the memory off."""
        return new_id() if self._keeps and self.enabled else None

    def tell(self, note: str) -> None:
        """Keep a note for the answer."""
        with self._lock:
            self._notes.append(note)

    def take_notes(self) -> tuple[str, ...]:
        """What there is to tell since this was last called."""
        with self._lock:
            notes, self._notes = tuple(dict.fromkeys(self._notes)), []
        with suppress(KdsError):  # it was noted when it happened
            if self._memory is not None and self._memory.exists:
                notes = (*self._memory.store.take_warnings(), *notes)
        return notes

    def begin_anew(self) -> None:
        """Know nothing of what was said so far; what is remembered of it stays where it is."""
        self.close()
        self.session = self._last = None

    def _newest(self, count: int, *, details: bool) -> tuple[Message, ...]:
        store, session = self._opened().store, self.session
        if session is None or store.find_session(session) is None:
            return ()
        return store.messages(session, last=count, details=details)

    def _last_noted(self) -> tuple[str, Details] | None:
        """The last message of the user, if it is known what was made of it."""
        newest = reversed(self._newest(_CONTEXT_REACH, details=True))
        last = next((one for one in newest if one.role == "user"), None)
        found = decode(last.details, last.content) if last else None
        return (last.id, found) if last and found else None

    def _said_here(self, details: Details) -> Details:
        """The same without what other conversations said."""
        if not details.turn.context:
            return details
        newest = self._newest(_CONTEXT_REACH, details=False)
        return details.said_here(one.at for one in newest if one.role == "user")

    def _add(
        self,
        role: Role,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | None = None,
        details: str | None = None,
    ) -> Message | None:
        memory, session = self._opened(), self.session
        if session is None:
            return None
        if self.title and memory.store.find_session(session) is None:
            memory.begin(session, title=self.title)
        return memory.add(
            session, role, text, speaker=speaker, at=at, details=details, summarise=False
        )

    def find_summarizer(self) -> Summarizer | None:
        """The model that condenses what was said; None: there is none."""
        return self.summarizer()

    def _kept(self, failing: str, write: Callable[[], object]) -> None:
        if self._keeps and self.enabled:
            self._tried(failing, write, None)

    def _found(self, failing: str, read: Callable[[], Found], nothing: Found) -> Found:
        return self._tried(failing, read, nothing) if self.exists and self.enabled else nothing

    def _tried(self, failing: str, call: Callable[[], Found], nothing: Found) -> Found:
        try:
            return call()
        except KdsError as error:
            fix = f"; {error.hint}" if isinstance(error, ExposedError) else ""
            self.tell(f"{failing}: {error.message}{fix}")
            return nothing
