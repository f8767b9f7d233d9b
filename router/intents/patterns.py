"""What the patterns of the prompt files say about a message: evidence, not a verdict.

Patterns that start with "^" are tried on the message, on the message without polite or linking
words in front ("ok, can you please ..."), and without "let's" and its like. All others are
tried on the message as it is. Exact patterns must be all of the message.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

from kds.brain.turn import IntentScore
from kds.router.prompts.promptfile import IntentPattern, PromptFile, When

Prompts = Mapping[str, PromptFile]
"""Agents by their intents."""

_COURTESY: Final = (
    r"(?:if (?:possible|you (?:can|could|don['’]?t mind|(?:have|get|find) (?:time|an? \w+))"
    r"|it(?:(?:['’]s| is)(?: not)?|(?: is|s)n['’]?t)(?: too (?:much|big|great)| no| any| an?)?"
    r"(?: of an?)? (?:work|trouble|effort|problem|hassle|bother|ask|to ask))"
    r"|when(?:ever)? you (?:can|(?:have|get|find) (?:time|an? \w+)))"
)
_POLITE_CLAUSE: Final = re.compile(
    rf"^\W*(?:(?:and|also|so|ok(?:ay)?|hey|hi|please)[\s,]+)*{_COURTESY}\b[^,.;:]{{0,12}},\s+(?=\w)",
    re.IGNORECASE,
)
_LEAD_IN: Final = re.compile(
    r"(?:(?:please|pls|plz|kindly|ok(?:ay)?|alright|all right|right|so|and|then|now|next|also|well"
    r"|great|cool|good|nice|perfect|thanks|thank you|hey|hi|hello|yes|yeah|sure|just|maybe|finally"
    r"|after that|afterwards|oh|hmm|kds|looks good|lgtm|that works|excellent|awesome"
    r"|(?:can|could|would|will) (?:you|u)(?: also| now| just| maybe| please| kindly)?"
    r"|would you mind|i want you to|i(?:'d| would) like you to|i need you to|you should"
    r"|go ahead and"
    rf"|{_COURTESY}"
    r"|quickly|simply|it(?:'d| would) be (?:nice|great) if you could)\b[,.!:]*\s+)+",
    re.IGNORECASE,
)
_PROPOSAL: Final = re.compile(
    r"(?:let'?s|let us|we should|we must|shall we|you (?:have to|need to|must|can))"
    r"\s+(?:also |now |just |please |then |first )*",
    re.IGNORECASE,
)
_ASKED_FOR: Final = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|also|but|then|now|hey|hi|great|thanks|please|pls|maybe|hmm)\b[\s,.!]*)*"
    r"(?:(?:can|could)(?:['\u2019]?n?['\u2019]?t)? we\b|would(?:n['\u2019]?t)? it be possible to\b"
    r"|why not\b|why don['\u2019]?t we\b|shouldn['\u2019]?t we\b)"
    r"(?:\s+(?:also|just|please|pls|maybe|now|first|then|again|try(?: to)?)\b)*"
    r"\s+(?=[a-z])(?!(?:be|assume|say|expect|see|trust|know)\b)",
    re.IGNORECASE,
)
"""How a request is put as a question that includes the asker: "can we", "why don't we"."""

_TAIL: Final = re.compile(r"[\s,]+(?:please|pls|plz|thanks|thank you|thx)[\s.!?]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the patterns of one intent add up to: ``score`` in [0, 1), and those that fired.

    An intent is ``lacking`` when it has needs, and none of them is in the message.
    """

    score: float = 0.0
    fired: tuple[IntentPattern, ...] = ()
    lacking: bool = False

    @property
    def exact(self) -> bool:
        """Whether the whole message is one of the intent's fixed phrases."""
        return any(pattern.exact for pattern in self.fired)


def without_lead_in(text: str) -> str:
    """The message without polite and linking words at its ends, unless these are all of it.

    >>> without_lead_in("Ok, can you please rename it, thanks!")
    'rename it'
    """
    text = text.strip()
    found = _LEAD_IN.match(text)
    return _TAIL.sub("", text[found.end() :] if found else text).strip() or text


def without_courtesy(text: str) -> str:
    """The message without a polite condition in front, which says nothing of what is wanted.

    >>> without_courtesy("If you can, great"), without_courtesy("If it's red, make it green")
    ('great', "If it's red, make it green")
    """
    return _POLITE_CLAUSE.sub("", text, count=1)


def is_lead_in(text: str) -> bool:
    """Whether a text is polite and linking words alone, which ask for nothing before a request.

    >>> is_lead_in("Ok, great!"), is_lead_in("Ok, commit")
    (True, False)
    """
    return _LEAD_IN.fullmatch(f"{text} ") is not None


def bare_request(text: str) -> str:
    """A request that is put as a question ("can we ...?") as the command that it is.

    >>> bare_request("ok, can we also move the navbar out?")
    'move the navbar out'
    >>> bare_request("Why not?"), bare_request("can we trust this cache?")
    ('Why not?', 'can we trust this cache?')
    """
    found = _ASKED_FOR.match(text.lstrip())
    if found is None:
        return text
    first, mark, rest = text.lstrip()[found.end() :].partition("?")
    return f"{first}.{rest}" if mark and rest.strip() else first


def readings(text: str) -> tuple[str, ...]:
    """The message, and what is left of it without lead-in and without proposal; no repeats.

    >>> readings("So let's commit this")
    ("So let's commit this", "let's commit this", 'commit this')
    """
    text = text.replace("\u2019", "'").strip()
    core = without_lead_in(text)
    proposal = _PROPOSAL.match(core)
    bare = core[proposal.end() :] if proposal else core
    return tuple(dict.fromkeys(reading for reading in (text, core, bare) if reading))


def find_patterns(
    prompts: Prompts, labels: Sequence[str], texts: Iterable[str], notes: list[str] | None = None
) -> tuple[Finding, ...]:
    """One Finding for each of ``labels``, over all ``texts`` together.

    Weights are joined by noisy-or: two patterns of 0.5 make 0.75. Where one of the intent's
    excludes matches, nothing counts for it but exact patterns; where it lacks what it needs,
    nothing at all.
    """
    forms = [found for text in dict.fromkeys(texts) if (found := readings(text))]
    agents = map(prompts.get, labels)
    return tuple(Finding() if agent is None else _find(agent, forms, notes) for agent in agents)


def _find(agent: PromptFile, forms: list[tuple[str, ...]], notes: list[str] | None) -> Finding:
    if agent.needs and not any(_matches(one, forms, notes) for one in agent.needs):
        return Finding(lacking=True)
    fired = [pattern for pattern in agent.patterns if _matches(pattern, forms, notes)]
    if fired and any(_matches(pattern, forms, notes) for pattern in agent.excludes):
        fired = [pattern for pattern in fired if pattern.exact]
    doubt = prod(1.0 - min(pattern.weight, 0.99) for pattern in fired)
    return Finding(1.0 - doubt, tuple(fired))


def _matches(pattern: IntentPattern, forms: list[tuple[str, ...]], notes: list[str] | None) -> bool:
    least = None if pattern.exact or pattern.source.startswith("^") else 1
    for text_readings in forms:  # of every pattern of every intent: hence plain loops
        for form in text_readings[:least]:
            if pattern.pattern.search(form, notes=notes) is not None:
                return True
    return False


@dataclass(frozen=True, slots=True)
class Situation:
    """Where in the conversation a message stands.

    ``previous_intent`` is that of the message before; ``has_reference`` says that the message
    points back to something, ``has_pointer`` that it does so with a word ("it");
    ``has_attachment`` that an image came with it.
    """

    previous_intent: str | None = None
    has_session: bool = False
    has_reference: bool = False
    has_pointer: bool = False
    has_attachment: bool = False


NO_SITUATION: Final = Situation()

_ADDING: Final = re.compile(r"(?:add|include|insert|attach|put|give|introduce)\b", re.IGNORECASE)
_QUESTION: Final = re.compile(
    r"\?\s*$|^(?:what|how|why|where|who|whom|whose|when|which|is|are|does|do|did|can|could|should"
    r"|would|will|and|or|but|so|same|for|in|on|under|with|if)\b",
    re.IGNORECASE,
)
_SIGNS: Final[Mapping[When, Callable[[Situation, str], bool]]] = {
    "first": lambda at, _: at.previous_intent is None and not at.has_session,
    "question": lambda _, message: _QUESTION.search(without_lead_in(message)) is not None,
    "reference": lambda at, _: at.has_reference,
    # "add a retry to it" changes what is there; "add a retry" may be something new
    "addition": lambda at, message: (
        at.has_pointer and _ADDING.match(without_lead_in(message)) is not None
    ),
    "image": lambda at, _: at.has_attachment,
}


def context_shifts(situation: Situation, message: str, prompts: Prompts) -> dict[str, float]:
    """What the conversation says about each intent, in log odds; the others stay as they are.

    Set by hand, under `context` of the prompt file of each intent, since examples stand alone.
    """
    found: dict[str, float] = {}
    for intent, agent in prompts.items():
        for shift in agent.context:
            follows = not shift.after or situation.previous_intent in shift.after
            if follows and _SIGNS[shift.when](situation, message):
                found[intent] = found.get(intent, 0.0) + shift.shift
    return found


@dataclass(frozen=True, slots=True)
class IntentVerdict:
    """The intent of a message, and the calibrated probability that it is the right one.

    When none of the intents fits, ``intent`` is UNKNOWN and ``confidence`` is that of the best
    alternative: what acting on it would be worth. ``alternatives`` are in falling order.
    ``in_scope`` in [0, 1] ranks messages by how much they look like one of the intents at all.
    It is learned with as many messages out of scope as in scope; patterns speak for it too.
    """

    intent: str
    confidence: float
    alternatives: tuple[IntentScore, ...]
    notes: tuple[str, ...]
    in_scope: float
    log_p: Mapping[str, float] = field(default_factory=dict)
    """The log probability of every intent before calibration; none where a phrase decided."""
    barred: frozenset[str] = frozenset()
    """Intents that need a word which the message does not have: they are not chosen."""
