"""Reading a question after what was said before it: what it refers to, and its intent.

The conversation comes from the client, within the contract of `kds.transit`, which is enforced here
once more, or from the stored session, with what that remembers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final

from kds.api.parts import Parts
from kds.brain.errors import KdsError, MessageError
from kds.brain.memory.entities import EntityMemory
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.memory.window import TURNS as VERBATIM
from kds.brain.memory.window import turns_of
from kds.brain.secrets.redaction import reveals, withheld
from kds.brain.turn import StepRecord, Turn, Utterance
from kds.router.conversation import DiscourseOf, sent_along
from kds.router.discourse.mention import Mention, is_time
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings
from kds.router.language.other_languages import is_foreign
from kds.router.pipeline import Pipeline, Step
from kds.router.references.resolver import naming
from kds.router.rewriting.writer import CheckedRewriter, FindRewriter
from kds.router.understanding import named, understanding
from kds.transit.history import TURNS, Message, transit

REPLIES_READ: Final = 3
"""Turns back that replies are read for things to refer to. What only an older reply named has
next to no salience left (0.72 a turn), and reading a reply takes 1-3 ms of CPU."""


def within_contract(messages: Iterable[Message], *, turns: int = TURNS) -> tuple[Message, ...]:
    """Return what counts of a conversation: the last turns, replies cut, 2,000 tokens."""
    return tuple(transit(messages, turns=turns))


def said_before(messages: Sequence[Message]) -> tuple[Utterance, ...]:
    """Return what the rules replay of a conversation: old replies are left out."""
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    recent = asked[-REPLIES_READ] if len(asked) >= REPLIES_READ else 0
    return tuple(
        Utterance(message.content, message.role)
        for place, message in enumerate(messages)
        if message.role == "user" or place >= recent
    )


def known_before(terms: Iterable[str], messages: Sequence[Message]) -> tuple[Utterance, ...]:
    """Return what brings up ``terms`` (oldest first) that no message of the user names any more.

    >>> [said.text for said in known_before(["login form"], [Message("user", "What is the fee?")])]
    ['Use the login form']
    """
    told = {
        word
        for message in messages
        if message.role == "user"
        for word in message.content.lower().split()
    }
    gone = [term for term in terms if told.isdisjoint(term.lower().split())]
    return tuple(Utterance(naming(term)) for term in gone)


A_TURN: Final = 3
"""Messages that are read for each turn of a session: two, and some that tools added."""

TERMS_SHOWN: Final = 10
"""Terms of a session that a reply names, the latest first."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What a session knew when a question came."""

    session: str
    turn: int
    """Of the question: 1 when it is the first."""
    messages: tuple[Message, ...] = ()
    """Within the contract of `kds.transit`."""
    message_ids: frozenset[str] = frozenset()
    """Of the last turns: they go to the model word for word, a recall leaves them out."""
    asked: str | None = None
    """Of the question, once it is stored."""
    terms: tuple[str, ...] = ()
    """What the last turns referred to, the oldest first."""
    documents: tuple[str, ...] = ()
    """Paths of what the last question was answered from, the best first."""
    about: tuple[str, ...] = ()
    """Documents that the session was said to be about."""


RESERVED: Final = ("export", "messages")
"""What the last part of an id cannot be: `/sessions/ID/export` would mean two things."""


def checked_session(session: str) -> str:
    """Return an id that a client chose for a session. Raises MessageError when it cannot be one.

    It is part of a path: `/sessions/ID`, in which it must stay what it is.
    """
    parts = session.split("/")
    if not (0 < len(session) <= ID_LIMIT and session.isprintable() and session == session.strip()):
        text = "this cannot be the id of a session"
        hint = f"use 1 to {ID_LIMIT} printable characters, without blanks at the ends"
    elif {"", ".", ".."}.intersection(parts) or (len(parts) > 1 and parts[-1] in RESERVED):
        text = "this cannot be the id of a session: nothing could be found under it"
        hint = (
            "use no empty part, '.' or '..' beside a '/', nor '/export' or '/messages' at the end"
        )
    else:
        return session
    raise MessageError(text, where="session_id", hint=hint)


def recollect(
    memory: ConversationMemory, session: str, *, begins: bool = True
) -> Recollection | None:
    """Return what ``session`` remembers. One that is not there is begun, or (without ``begins``)
    None. Raises StoreError.
    """
    stored = memory.begin(session) if begins else memory.store.find_session(session)
    if stored is None:
        return None
    turns = memory.flags.history_max_turns
    read = memory.store.messages(stored.id, last=A_TURN * turns)
    sent = tuple(turns_of(read))[-VERBATIM:]
    known = _known(memory, session)
    said = (Message(one.role, one.content) for one in read if one.role in ("user", "assistant"))
    return Recollection(
        session=stored.id,
        turn=memory.store.count_questions(stored.id) + 1,
        messages=within_contract(said, turns=turns),
        message_ids=frozenset(one.id for turn in sent for one in turn),
        terms=_recent_terms(known),
        documents=known.documents if known else (),
        about=stored.documents,
    )


def shown_terms(memory: ConversationMemory, session: str) -> tuple[str, ...]:
    """Return what a session talks about now, the latest first."""
    return _recent_terms(_known(memory, session))[::-1][:TERMS_SHOWN]


def _known(memory: ConversationMemory, session: str) -> EntityMemory | None:
    flags = memory.flags
    return (
        memory.store.entities.load(session, ttl=flags.ttl) if flags.enable_session_memory else None
    )


def _recent_terms(known: EntityMemory | None) -> tuple[str, ...]:
    """The terms of the last turns, the oldest first, each once."""
    return tuple(one.term for one in known.recent) if known else ()


TERMS: Final = 5
"""Things of one question that are remembered."""


MEANING: Final = ("resolve", "decide", "expand", "need")
"""The steps that find what the question means by the rules; a model and the intent come later."""

EVERYTHING: Final = frozenset(field.name for field in fields(Turn))
"""What a turn carries that has been read: later steps find what earlier ones left."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the rules read it, and the steps that it goes through.

    ``rewriter`` is set when a model may do better: see `Reader.ask_model`.
    """

    turn: Turn
    steps: tuple[Step, ...] = ()
    rewriter: CheckedRewriter | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads questions with the steps of the router, over what was sent along or remembered.

    All proposed edits are written: the decision that drops most of them for a message at work is
    fitted on such messages, and would drop those of follow-up questions over documents, which
    are tidier. Nor does what people typed at work say what a question wants.
    """

    parts: Parts
    find_rewriter: FindRewriter

    def read(
        self,
        text: str,
        said: Sequence[Utterance],
        known: Sequence[Utterance],
        *,
        at: datetime,
        rewrites: bool = True,
    ) -> Reading:
        """Return what the rules make of a question: of what was ``said``, after what is ``known``.

        Without ``rewrites`` it stays as it is, as does one in another language than English.
        """
        turn = Turn(text, at, history=tuple(said), expanded=text)
        steps = self._steps(sent_along(self.parts.resolver, known))
        if is_foreign(text):
            turn = replace(turn, english=False)
        if not (rewrites and turn.english):
            return Reading(turn, steps)
        meaning = Pipeline(named(steps, *MEANING), given=EVERYTHING)
        return self._with_rewriter(Reading(meaning.run(turn), steps))

    def ask_model(self, reading: Reading) -> Turn:
        """Have a model rewrite the question, where one may; the rules' reading, where not.

        Takes as long as `rewriting.timeout_s` allows: not for a thread that others need.
        """
        if reading.rewriter is None:
            return reading.turn
        return Pipeline(named(reading.steps, "rewrite"), given=EVERYTHING).run(reading.turn)

    def classify(self, turn: Turn) -> Turn:
        """Find the intent of a question that stands alone."""
        return Pipeline(named(self._steps(), "classify"), given=EVERYTHING).run(turn)

    def terms(self, turn: Turn) -> list[str]:
        """What a question is about: what it referred to, and what it names itself; no secret."""
        targets = [one.target for one in turn.references if one.target]
        members = [one for target in targets for one in self._members(target)]
        named = [one.text for one in self._mentions(turn.expanded) if _names_something(one)]
        hidden = withheld(turn.message, turn.expanded, *(one.text for one in turn.history))
        found = [one for one in dict.fromkeys([*members, *named]) if not reveals(one, hidden)]
        return found[:TERMS]

    def _members(self, target: str) -> list[str]:
        """The things that a target names: two of "the fee or the fine", none of "a weekend"."""
        mentions = self._mentions(naming(target))
        parts = [part.text for one in mentions for part in one.parts]
        empty = mentions and all(is_time(one) or _is_said_of_it(one) for one in mentions)
        return parts or ([] if empty else [target])

    def _mentions(self, text: str) -> tuple[Mention, ...]:
        return self.parts.resolver.replay((Utterance(text),)).last.mentions

    def _steps(self, discourse_of: DiscourseOf | None = None) -> tuple[Step, ...]:
        parts = self.parts
        return understanding(
            parts.resolver,
            parts.model,
            discourse_of or sent_along(parts.resolver),
            rewriter=self.find_rewriter,
        )

    def _with_rewriter(self, reading: Reading) -> Reading:
        try:
            rewriter = self.find_rewriter()
        except KdsError as error:
            record = StepRecord("rewrite", (f"no model was asked: {error.message}",))
            turn = replace(reading.turn, records=(*reading.turn.records, record))
            return replace(reading, turn=turn)
        if rewriter is None or not rewriter.wants(reading.turn):
            return reading
        return replace(reading, rewriter=rewriter)


def _names_something(mention: Mention) -> bool:
    """A thing of its own that may be referred to later; a group is told by its members.

    What the question is about, what has a name, an identifier or a compound for a name, and what
    is said to be known ("the customer"). Not "a weekend" or "writing", which it happens to mention.
    """
    if mention.parts or mention.negated or mention.person or is_time(mention):
        return False
    if _is_said_of_it(mention):
        return False
    if mention.determiner in cc.WH | {"many", "much"}:
        return False
    named = bool(mention.kind or mention.name or mention.modifiers)
    capital = mention.head_text[:1].isupper() and not _is_calendar(mention)
    known = mention.determiner == "the" and mention.role in {"subj", "obj"}
    return named or capital or known or mention.topic


def _is_said_of_it(mention: Mention) -> bool:
    """ "resigning" of "the Trustee resigning", "afterwards": the lexicon has it, and as no noun."""
    word = readings(mention.head)
    verb_alone = bool(word.verb and mention.modifiers)
    return mention.head_text.islower() and not word.noun and (verb_alone or bool(word.adverb))


def _is_calendar(mention: Mention) -> bool:
    """ "Sunday", "December"."""
    return mention.label in {"DAY", "MONTH"} or (mention.prep == "on" and mention.determiner == "a")
