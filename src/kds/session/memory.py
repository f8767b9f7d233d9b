"""What a session remembers of its conversation: both sides, on by default.

What goes wrong with the memory is a note for the answer; it never costs a turn.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from kds.api.turn_log import SHARED, TurnRecord, all_sessions, terms_of, turn_metric
from kds.brain.clock import Clock, utc_now
from kds.brain.errors import ExposedError, KdsError
from kds.brain.memory.memory import ConversationMemory, PromptMemory
from kds.brain.memory.memory_store import TURN
from kds.brain.memory.sessions import Session, new_id
from kds.brain.passages.details import AnswerDetails, Details, Quote, decode, encode
from kds.brain.passages.values import KDS, Message, Role
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace

Found = TypeVar("Found")
Use = Callable[[ConversationMemory], Found]

Noted = tuple[Turn, str | None]
"""What was made of a message, and in which conversation."""

_CONTEXT_REACH: Final = 60
"""Messages among which the ten of the context are, with the replies to each."""

_LOOK_BACK: Final = 8
"""Messages in which the last reply is looked for: a user may have said some things since."""


class Reply(NamedTuple):
    """What an agent said last, whole."""

    text: str
    agent: str | None


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
        self.noted: str | None = None
        """The id of the message that was noted last."""
        self._keeps = keeps
        self._notes: list[str] = []
        self._last: Reply | None = None

    def note(self, turn: Turn, conversation: str | None = None) -> None:
        """Remember what the user said, and measure the turn: before any model is asked."""
        self.noted = self._say("user", turn.message, noted=(turn, conversation))

    def reply(self, text: str, *, agent: str = KDS) -> None:
        """Remember what an agent said, or KDS itself.

        With the memory off only the newest reply of an agent is known, to this process.
        """
        if agent != KDS:
            self._last = Reply(text, agent)
        if text.strip():
            self._say("assistant", text, speaker=agent)

    def finish(
        self, message: str | None, turn: Turn, answer: AnswerDetails, said: str,
        told: Sequence[PromptMemory], conversation: str | None,
    ) -> None:  # fmt: skip
        """Keep how the ``message`` of that id was answered (None: the user's last one, whose work
        was handed on), and what the turn and what was ``said`` to it referred to.

        ``told`` is what the memory added to the prompts. Then the summaries that are due are made:
        nobody waits for a model, and one that has just failed is not asked.
        """

        def keep(memory: ConversationMemory) -> None:
            store = memory.store
            profile = dict.fromkeys(line for one in told for line in one.profile)
            passages = dict.fromkeys(passage for one in told for passage in one.passages)
            cited = ((one, store.message(one.message)) for one in passages if one.message)
            quotes = tuple(Quote(of.id, max(of.content.find(one.text), 0), len(one.text))
                           for one, of in cited)  # fmt: skip
            asked = [one for one in self._newest(_CONTEXT_REACH, details=True)
                     if one.role == "user"]  # fmt: skip
            found = next((one for one in reversed(asked) if message in (None, one.id)), None)
            details = decode(found.details, found.content) if found else None
            if found is not None and details is not None:
                if details.turn.at == turn.at:
                    details = replace(details, turn=turn)  # with what was noted of it since
                details = details.answered(replace(answer, profile=tuple(profile), quotes=quotes))
                store.describe(found.id, encode(details.said_here(one.at for one in asked)))
            memory.remember_turn(
                conversation or SHARED, terms_of(turn), answer=said, fresh=turn.context_switch
            )
            if self.session and answer.error is None:
                memory.catch_up_later(self.session)

        self._with("how it was answered is not kept", keep, None, writes=True)

    def known(self, conversation: str | None = None) -> Sequence[str]:
        """What the conversation has referred to."""
        return self._with(
            "routed without the memory", lambda _: self._antecedents(conversation), list[str]()
        )

    def earlier(self, message: str = "") -> tuple[Utterance, ...]:
        """What was said before ``message``, within the budget of the settings; "": all of it.

        A summary is told as the user's: it is not a reply.
        """

        session = self.session
        if session is None:
            return ()
        failing = "asked without what was said before"
        return self._with(failing, lambda memory: memory.window(session, message).earlier(), ())

    def for_prompt(self, turn: Turn, earlier: Iterable[Utterance]) -> PromptMemory:
        """What the memory adds to the prompt of a turn, beside what was said ``earlier``."""
        said = (turn.message, *(one.text for one in earlier))
        return self._with(
            "asked without the memory",
            lambda memory: memory.for_prompt(turn.expanded or turn.message, said=said),
            PromptMemory(),
        )

    def last_reply(self) -> Reply | None:
        """The last reply of an agent, whole; None when there is none."""
        if self._last is None:
            for one in reversed(self._newest(_LOOK_BACK)):
                if one.role == "assistant" and one.speaker != KDS:
                    return Reply(one.content, one.speaker)
        return self._last

    def sessions(self) -> tuple[Session, ...]:
        """Every session of the workspace, the one changed last first. Raises StoreError."""
        on = self.exists and self._opened().flags.enabled
        return all_sessions(self._opened().store) if on else ()

    def new_session(self) -> str | None:
        """An id for a session that begins with its first message; None with the memory off."""
        return self._with("the memory is off", lambda _: new_id(), None, writes=True)

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

    def _say(
        self, role: Role, text: str, speaker: str | None = None, noted: Noted | None = None
    ) -> str | None:
        """Store what was said, with what was made of it; returns its id."""

        def store(memory: ConversationMemory) -> str | None:
            details = at = None
            if noted is not None:
                turn, conversation = noted
                at = turn.at
                memory.store.metrics.add(TURN, turn_metric(turn, conversation), at=at)
                said = self._newest(_CONTEXT_REACH) if turn.context else ()
                own = Details(turn).said_here(one.at for one in said if one.role == "user")
                details = encode(own)
            if self.session is None:
                return None
            if self.title and memory.store.find_session(self.session) is None:
                memory.begin(self.session, title=self.title)
            stored = memory.add(
                self.session, role, text, speaker=speaker, at=at, details=details, summarise=False
            )
            return stored.id if stored else None

        what = "message" if role == "user" else "reply"
        return self._with(f"the {what} was not remembered", store, None, writes=True)

    def _newest(self, count: int, *, details: bool = False) -> tuple[Message, ...]:
        def read(memory: ConversationMemory) -> tuple[Message, ...]:
            session = self.session
            if session is None or memory.store.find_session(session) is None:
                return ()
            return memory.store.messages(session, last=count, details=details)

        return self._with("what was said before was not found", read, ())

    def _with(
        self, failing: str, use: Use[Found], nothing: Found, *, writes: bool = False
    ) -> Found:
        """What ``use`` makes of the memory; ``nothing`` where it is off, or fails."""

        def used() -> Found:
            memory = self._opened() if (self._keeps if writes else self.exists) else None
            return use(memory) if memory is not None and memory.flags.enabled else nothing

        return self._tried(failing, used, nothing)

    def _tried(self, failing: str, call: Callable[[], Found], nothing: Found) -> Found:
        try:
            return call()
        except KdsError as error:
            fix = f"; {error.hint}" if isinstance(error, ExposedError) else ""
            self.tell(f"{failing}: {error.message}{fix}")
            return nothing
