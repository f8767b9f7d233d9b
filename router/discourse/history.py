"""What the conversation has been about: its messages, expanded and analysed, oldest first."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from kds.brain.turn import Utterance as Utterance
from kds.router.discourse.mentions import Mention, mentions_in
from kds.router.language.lexicon import readings
from kds.router.language.words import Analysis

_WORDS: Final = re.compile(r"[a-z]{3,}")

READ_CHARS: Final = 8_000
"""Characters of a message or a reply whose words are known from then on."""


@lru_cache(maxsize=256)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(_WORDS.findall(text[:READ_CHARS].lower()))


@dataclass(frozen=True, slots=True)
class Moment:
    """One message of the discourse, in its expanded form."""

    expanded: str
    analysis: Analysis
    mentions: tuple[Mention, ...]
    focus: Mention | None = None
    """The thing that a rule moved into focus: a correction's new name, a merged feature."""
    replies: tuple[Mention, ...] = ()
    """What the assistant mentioned in its answer: a weaker source."""


def _named(mention: Mention, written: Collection[str]) -> Mention:
    """The mention, without a verb that stood before what was written into the message."""
    for name in written:
        verb, found, rest = mention.text.rpartition(f" {name}")
        if found and not (rest or mention.determiner) and readings(verb.lower()).verb:
            return replace(
                mention, text=name, modifiers=mention.modifiers[1:], start=mention.start + 1
            )
    return mention


@dataclass(frozen=True, slots=True)
class Discourse:
    """The messages so far. ``moments[-1]`` is the newest."""

    moments: tuple[Moment, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.moments)

    @property
    def words(self) -> frozenset[str]:
        """The words of all messages, in lower case."""
        return frozenset().union(*(words_of(moment.expanded) for moment in self.moments))

    @property
    def last(self) -> Moment:
        """The newest message; raises IndexError when there is none."""
        return self.moments[-1]

    def then(
        self, analysis: Analysis, *, focus: Mention | None = None, written: Collection[str] = ()
    ) -> "Discourse":
        """The discourse after one more (expanded, analysed) message.

        ``written`` are the antecedents written into it: "log" of "and log dark mode" is a verb.
        """
        turn = len(self.moments)
        if focus is not None:
            focus = replace(
                focus, turn=turn, role="obj", verb="", subordinate=False, beside_subject=False
            )
        mentions = tuple(_named(one, written) for one in mentions_in(analysis, turn))
        moment = Moment(analysis.text, analysis, mentions, focus)
        return Discourse((*self.moments, moment))

    def age(self, mention: Mention) -> int:
        """How many messages ago it was said; 0 is the newest message."""
        return len(self.moments) - 1 - mention.turn

    def answered(self, analysis: Analysis) -> "Discourse":
        """The discourse after the assistant's answer to the newest message."""
        if not self.moments:
            return self
        found = mentions_in(analysis, len(self.moments) - 1)
        replies = (replace(mention, reply=True, subordinate=True) for mention in found)
        last = replace(self.last, replies=(*self.last.replies, *replies))
        return Discourse((*self.moments[:-1], last))

    def topics(self) -> tuple[Mention, ...]:
        """What the conversation was opened about, oldest first."""
        return tuple(m for moment in self.moments for m in moment.mentions if m.topic)

    def mentions(self) -> Iterator[Mention]:
        """Every mention, newest message first, in text order within a message; focus first."""
        for moment in reversed(self.moments):
            if moment.focus is not None:
                yield moment.focus
            yield from moment.mentions
            yield from moment.replies
