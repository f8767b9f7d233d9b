"""Reading a question after what was said before it: what it refers to, and its intent.

The conversation comes from the client, within the contract of `kds.transit`, which is enforced here
once more, or from the stored session, with what that remembers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from kds.api.parts import Parts
from kds.brain.errors import KdsError, MessageError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.memory.window import TURNS as VERBATIM
from kds.brain.memory.window import turns_of
from kds.brain.secrets.redaction import reveals, withheld
from kds.brain.turn import StepRecord, Turn, Utterance
from kds.router.discourse.mentions import Mention, is_time
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings
from kds.router.language.other_languages import is_foreign
from kds.router.pipeline import run_steps
from kds.router.references.resolver import naming
from kds.router.rewriting.writer import FindRewriter
from kds.router.understanding import named, sent_along, understanding
from kds.transit.history import Message, transit

A_TURN: Final = 3
"""Messages that are read for each turn of a session: two, and some that tools added."""

TERMS: Final = 5
"""Things of one question that are remembered."""

MEANING: Final = ("resolve", "decide", "expand", "need")
"""The steps that find what the question means by the rules; a model and the intent come later."""


RESERVED: Final = ("export", "messages")
"""What the last part of an id cannot be: `/sessions/ID/export` would mean two things."""


def known_before(terms: Iterable[str], messages: Iterable[Message]) -> tuple[Utterance, ...]:
    """What brings up ``terms`` (oldest first) that no message of the user names any more.

    >>> [said.text for said in known_before(["login form"], [Message("user", "What is the fee?")])]
    ['Use the login form']
    """
    asked = (message.content for message in messages if message.role == "user")
    told = {word for text in asked for word in text.lower().split()}
    return tuple(Utterance(naming(term)) for term in terms if told.isdisjoint(term.lower().split()))


def checked_session(session: str) -> str:
    """Return an id that a client chose for a session. Raises MessageError when it cannot be one.

    It is part of a path, `/sessions/ID`, in which it must stay what it is.
    """
    parts = session.split("/")
    fits = 0 < len(session) <= ID_LIMIT and session.isprintable() and session == session.strip()
    found = {"", ".", ".."}.isdisjoint(parts) and not (len(parts) > 1 and parts[-1] in RESERVED)
    if fits and found:
        return session
    raise MessageError(
        "this cannot be the id of a session",
        where="session_id",
        hint=f"use 1 to {ID_LIMIT} printable characters, without blanks at the ends; no empty "
        "part, '.' or '..' between slashes, nor '/export' or '/messages' at the end",
    )


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


def recollect(
    memory: ConversationMemory, session: str, *, begins: bool = True
) -> Recollection | None:
    """What ``session`` remembers. One that is not there is begun, or (without ``begins``) None.

    Raises StoreError.
    """
    stored = memory.begin(session) if begins else memory.store.find_session(session)
    if stored is None:
        return None
    flags, store = memory.flags, memory.store
    read = store.messages(stored.id, last=A_TURN * flags.history_max_turns)
    known = store.entities.load(session, ttl=flags.ttl) if flags.enable_session_memory else None
    said = (Message(one.role, one.content) for one in read if one.role in ("user", "assistant"))
    return Recollection(
        session=stored.id,
        turn=store.count_questions(stored.id) + 1,
        messages=tuple(transit(said, turns=flags.history_max_turns)),
        message_ids=frozenset(one.id for turn in list(turns_of(read))[-VERBATIM:] for one in turn),
        terms=tuple(one.term for one in known.recent) if known else (),
        documents=known.documents if known else (),
        about=stored.documents,
    )


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
    ) -> tuple[Turn, Callable[[], Turn] | None]:
        """What the rules make of a question: of what was ``said``, after what is ``known``.

        Without ``rewrites`` it stays as it is, as does one in another language than English. Behind
        it, where a model may do better: what asks it, and takes as long as `rewriting.timeout_s`.
        """
        turn = Turn(text, at, history=tuple(said), expanded=text, english=not is_foreign(text))
        if not (rewrites and turn.english):
            return turn, None
        turn = self._run(turn, *MEANING, known=known)
        try:
            rewriter = self.find_rewriter()
        except KdsError as error:
            record = StepRecord("rewrite", (f"no model was asked: {error.message}",))
            return replace(turn, records=(*turn.records, record)), None
        asks = rewriter is not None and rewriter.wants(turn)
        return turn, partial(self._run, turn, "rewrite", known=known) if asks else None

    def classify(self, turn: Turn) -> Turn:
        """Find the intent of a question that stands alone."""
        return self._run(turn, "classify")

    def _run(self, turn: Turn, *names: str, known: Sequence[Utterance] = ()) -> Turn:
        """Send ``turn`` through the steps with these names."""
        resolver = self.parts.resolver
        steps = understanding(
            resolver,
            self.parts.model,
            sent_along(resolver, known),
            rewriter=self.find_rewriter,
        )
        return run_steps(named(steps, *names), turn)

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


def _names_something(mention: Mention) -> bool:
    """A thing of its own that may be referred to later; a group is told by its members.

    What the question is about, what has a name, an identifier or a compound for a name, and what
    is said to be known ("the customer"). Not "a weekend" or "writing", which it happens to mention.
    """
    passing = mention.parts or mention.negated or mention.person or is_time(mention)
    if passing or _is_said_of_it(mention) or mention.determiner in cc.WH | {"many", "much"}:
        return False
    named = bool(mention.kind or mention.name or mention.modifiers)
    day = mention.label in {"DAY", "MONTH"} or (mention.prep == "on" and mention.determiner == "a")
    capital = mention.head_text[:1].isupper() and not day
    known = mention.determiner == "the" and mention.role in {"subj", "obj"}
    return named or capital or known or mention.topic


def _is_said_of_it(mention: Mention) -> bool:
    """ "resigning" of "the Trustee resigning", "afterwards": the lexicon has it, and as no noun."""
    word = readings(mention.head)
    verb_alone = bool(word.verb and mention.modifiers)
    return mention.head_text.islower() and not word.noun and (verb_alone or bool(word.adverb))
