"""What turns say about the intent of earlier messages.

Either a turn answers a question that KDS asked, or it names the intent of the message before:
"no, that was a question", "I meant plan it, not do it", "I wanted tests". Names are those of the
prompt files: the intent, the agent, the words of its ``ask``. A message with anything else in it is
a correction of the work, and nothing is learned from it.
"""

import hashlib
import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError
from kds.brain.learning.events import Correction, LearningEvent
from kds.brain.learning.phrases import says_nothing, unlearnable
from kds.brain.turn import UNKNOWN, Turn
from kds.brain.workspace import Workspace
from kds.learning.teaching import Learning
from kds.router.intents.features import stem
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

logger = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 80
"""A message that only names an intent is short; longer ones are not looked at."""

_REFERS_BACK: Final = re.compile(
    r"""\b(?:i|we)\s(?:only\s|just\s|really\s|actually\s)?
          (?:meant|mean|wanted|said|asked|was\sasking|were\sasking)\b
      | \b(?:that|this|it)\s(?:was|should\shave\sbeen|should\sbe)\b
      | ^(?:no|nope|nah|wrong|sorry|oops|actually)\b[\s,.!-]*(?:that|this|it)(?:\sis|'?s)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a message speaks of what was said before, in English."""

_NEGATION: Final = frozenset("not never don't dont isn't isnt wasn't wasnt didn't didnt".split())
_CLAUSE_END: Final = re.compile(r"[,;:.!?\u2013\u2014-]+|\bbut\b")
_FILLER: Final = frozenset(
    """no nope nah wrong sorry oops actually well ok okay please i we you meant mean wanted said
    asked was were asking only just really that that's thats this it it's its should have been be
    is a an the to for do some my as of in this kind thing one rather instead""".split()
)
_WORD: Final = re.compile(r"[\w']+")
_EMPTY: Final = frozenset("a an the to or and of that is what it its with everything in".split())


class LearningLog:
    """Records what the conversations of one workspace say about intents, for any number of threads.

    It never stops a turn. Nearly every turn says nothing: that costs a look at its words, no file
    is made, and not even the settings are read.
    """

    def __init__(
        self,
        workspace: Workspace,
        library: PromptLibrary,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._workspace = workspace
        self._library = library
        self._clock = clock
        self._environ = environ

    def note(self, turn: Turn, conversation: str | None = None) -> LearningEvent | None:
        """Record what the turn says about the one before; what goes wrong is logged.

        Returns that, None when it says nothing, or the same was said before.
        """
        try:
            event = sign_in(turn, self._names, conversation)
            if event is not None:
                learning = Learning(self._workspace, clock=self._clock, environ=self._environ)
                if learning.enabled and learning.note(event):
                    return event
        except (KdsError, OSError) as error:
            logger.warning("nothing was learned from the turn: %s", error)
        return None

    @cached_property
    def _names(self) -> "IntentNames":
        return IntentNames(self._library)


class IntentNames:
    """The words by which the prompt files name their intents, each of exactly one of them.

    ``corrections`` are the intents of messages about another message: that one never had such an
    intent.
    """

    def __init__(self, library: PromptLibrary) -> None:
        self.corrections = library.corrections()
        named = {one.intent: _words_of(one) for one in library.agents() if one.intent}
        uses = Counter(word for own, further in named.values() for word in own | further)
        owned = Counter(word for own, _ in named.values() for word in own)
        self._intent_of = {
            word: intent
            for intent, (own, further) in named.items()
            for word in own | further
            if uses[word] == 1 or (word in own and owned[word] == 1)
        }

    def named(self, words: Iterable[str]) -> str | None:
        """The intent that ``words`` name; None for two intents, or when they say more than that."""
        intents = {self._intent_of.get(stem(word)) for word in words if word not in _FILLER}
        return next(iter(intents)) if len(intents) == 1 else None


def sign_in(
    turn: Turn, names: IntentNames, conversation: str | None = None
) -> LearningEvent | None:
    """What the turn says about an earlier message, if anything; a few microseconds if not."""
    kind: Correction = "corrected"
    named: str | None = turn.intent
    meant = turn.context[-1] if turn.context else None
    if any(record.step == "answer" and record.notes for record in turn.records):
        kind = "clarified"
    elif meant is not None:
        named = _named_intent(turn.message, names)
        # The newest message that is not a correction itself is the one that was meant.
        newest_first = reversed(turn.context)
        meant = next((one for one in newest_first if one.intent not in names.corrections), None)
        if meant is not None and named == meant.intent:
            return None
    if meant is None or named is None:
        return None
    said = meant.user_message
    if says_nothing(said) or unlearnable(said) is not None:
        return None
    source = hashlib.sha256((conversation or "").encode(errors="surrogatepass")).hexdigest()[:12]
    return LearningEvent(turn.at, kind, said, named, was=meant.intent, source=source)


def _named_intent(message: str, names: IntentNames) -> str | None:
    """The intent that a message names and does not deny, when it says nothing else.

    "I meant plan it, not do it" names PLAN.
    """
    if len(message) > MAX_CHARACTERS or "\n" in message:
        return None
    text = message.replace("\u2019", "'").strip().lower()
    if _REFERS_BACK.search(text) is None:
        return None
    said: list[str] = []
    for clause in _CLAUSE_END.split(text):
        words = _WORD.findall(clause)
        denied = next((i for i, word in enumerate(words) if word in _NEGATION), len(words))
        said += words[:denied]
    intent = names.named(said)
    return None if intent == UNKNOWN or intent in names.corrections else intent


def _words_of(agent: PromptFile) -> tuple[set[str], set[str]]:
    """The stems of an agent's own names, its intent and verb, and of further words for it."""
    ask = (agent.ask or "").split()
    own = (*(agent.intent or "").split("_"), *ask[:1])
    further = (*agent.name.split("-"), *map(str.lower, ask))
    return {stem(word.lower()) for word in own}, {stem(one) for one in further if one not in _EMPTY}
