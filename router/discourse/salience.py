"""How easily a mention comes to mind: the score by which antecedents compete.

After Lappin and Leass (1994): grammatical role, recency and repetition, with agreement as a
strong preference; plus selection (what a verb is usually done to) and the mood of commands.
The weights are set on the development dialogues, not taken from the paper, whose texts are
manuals and not chat.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kds.router.discourse.fitness import Slot, dealt_with, fitness
from kds.router.discourse.history import Discourse
from kds.router.discourse.knowledge import Knowledge
from kds.router.discourse.mention import Mention, Mood, is_somebody, is_time
from kds.router.discourse.mentions import RELATIONAL_NOUNS
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Number, Role

ROLE: Final[dict[Role, float]] = {
    "obj": 1.0,
    "subj": 0.95,
    "pobj": 0.55,
    "of": 0.35,
    "poss": 0.40,
    "none": 0.60,
}
RECENCY: Final = 0.72
"""Weight lost with each message in between."""
FULL: Final = 1.25
"""A raw weight that counts as certain: the object of the last command, and then some."""

SUBORDINATE: Final = 0.75
CREATED: Final = 1.12
BESIDE_SUBJECT: Final = 0.75
"""An object whose clause has a noun for subject: the subject is what it is about."""
DEALT_WITH: Final = 3.2
"""The object of a question whose subject is somebody, where a thing is meant: as a topic."""
MEANS: Final = 0.70
"""What one is told to use is the means; the topic is what it is used for."""
TOPIC: Final = 2.4
"""What a conversation was opened about: pronouns keep pointing to it (Grosz et al. 1995)."""
TOPIC_DECAY: Final = 0.97
GROUP: Final = 0.7
"""A singular name as antecedent of they: a band, a company; less often one person."""
PERSON_LIKE: Final = 0.5
RELATIONAL: Final = 0.6
REPLY: Final = 0.2
"""What the assistant said weighs less than what the user said."""
TOPIC_CHANGE: Final = 0.65
NEGATED: Final = 0.2
"""What was named to be left out: "a file, not stdout"."""
DISMISSED: Final = 0.4
NAMED: Final = 1.0
"""A name of which neither number nor person is known from its form."""
RESULT: Final = 1.15
REPLACED: Final = 0.55
FOCUS: Final = 1.35
REPEATED: Final = 0.12
PARALLEL: Final = 1.12
SAME_VERB: Final = 1.5
PREFERRED: Final = 1.7
QUESTIONED: Final = 0.65
"""Things only asked about, when the message is a command: commands go on with what is built."""
PEOPLE: Final = 0.80
"""Commands act on things; people are mostly those for whom."""
MISMATCH: Final = 0.06
VAGUE: Final = 0.35
VALUE: Final = 0.25

_CREATING: Final = words("verbs", "creating")
_VALUE_LABELS: Final = frozenset({"COLOR", "DAY", "MONTH", "NUMBER"})
_PEOPLE: Final = frozenset({"ROLE", "PARTY", "GROUP"})
_SETTING: Final = words("verbs", "setting")
_NONSPECIFIC: Final = frozenset({"any", "no", "every", "each"})
_DISMISSING: Final = words("verbs", "dismissing")
_INFORMING: Final = words("verbs", "informing")
_VAGUE: Final = words("nouns", "vague")
_GIVEN: Final = words("nouns", "given")


@dataclass(frozen=True, slots=True)
class Need:
    """What the reference asks of its antecedent."""

    number: Number | None = None
    person: bool | None = None
    role: Role = "none"
    verb: str = ""
    """Verb lemma with its particle ("roll back")."""
    complement: str = ""
    mood: Mood = "statement"
    decay: float = RECENCY
    lenient: bool = True
    """Names may be persons or groups, whatever their form."""
    slot: Slot = ""
    """Somebody who acts or a thing, by the place of the reference."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A thing that could be meant: its best mention to quote, and its score (1 = certain)."""

    mention: Mention
    score: float


def rank(
    mentions: Iterable[Mention], need: Need, discourse: Discourse, knowledge: Knowledge
) -> list[Candidate]:
    """Things by salience, best first; mentions of one thing count together.

    Behind "tooltips and badges", "them" are both.
    """
    mentions = list(mentions)
    if need.number == "pl":
        joined = [part for mention in mentions for part in mention.parts]
        mentions = [mention for mention in mentions if mention not in joined]
    things: list[list[Mention]] = []
    for mention in mentions:
        for thing in things:
            if any(mention.same_thing(known) for known in thing):
                thing.append(mention)
                break
        else:
            things.append([mention])
    candidates = [_candidate(thing, need, discourse, knowledge) for thing in things]
    return sorted(candidates, key=lambda c: -c.score)


def margin(candidates: Sequence[Candidate]) -> float:
    """Lead of the best over the second as a share of the best; 1 when alone."""
    if len(candidates) < 2:
        return 1.0
    best, second = candidates[0].score, candidates[1].score
    return (best - second) / best if best > 0 else 0.0


def _candidate(
    thing: list[Mention], need: Need, discourse: Discourse, knowledge: Knowledge
) -> Candidate:
    weights = [_weight(mention, need, discourse, knowledge) for mention in thing]
    turns = len({mention.turn for mention in thing})
    raw = max(weights) * (1.0 + REPEATED * min(turns - 1, 3))
    raw *= fitness(thing, need.slot, discourse, plural=need.number == "pl")
    quoted = max(thing, key=lambda m: (len(m.modifiers) + bool(m.name), m.topic, m.turn))
    return Candidate(quoted, raw / FULL)


def _weight(mention: Mention, need: Need, discourse: Discourse, knowledge: Knowledge) -> float:
    weight = _role(mention) * _decay(mention, need, discourse)
    if mention.topic and _asks(need):
        weight *= TOPIC
    weight *= _form(mention)
    weight *= _agreement(mention, need)
    if need.slot == "thing" and mention.mood == "question" and dealt_with(mention, discourse):
        weight *= DEALT_WITH
    if need.mood == "imperative" and mention.mood == "question":
        weight *= QUESTIONED
    instead = " instead" in discourse.moments[mention.turn].expanded
    if mention.role == "obj" and mention.verb == "use" and not instead:
        weight *= MEANS
    weight *= _parallel(mention, need)
    if mention.reply:
        weight *= REPLY
    if knowledge.prefers(need.verb, need.complement, mention):
        weight *= PREFERRED
    if discourse.moments[mention.turn].focus == mention:
        weight *= FOCUS
    return weight


def _parallel(mention: Mention, need: Need) -> float:
    """The same role as the reference, and whether that role is one for people."""
    weight = 1.0
    if need.role in {"subj", "obj"} and need.role == mention.role:
        weight *= PARALLEL
        verb = need.verb.split()[0] if need.verb else ""
        if need.role == "subj" and verb not in {"", "be", "do"} and verb == mention.verb:
            weight *= SAME_VERB
    if need.role == "obj" and mention.label in _PEOPLE and need.mood == "imperative":
        weight *= PEOPLE
    return weight


def _asks(need: Need) -> bool:
    """Questions, and commands that ask: those go on with the topic of the talk."""
    return need.mood != "imperative" or need.verb in _INFORMING


def _role(mention: Mention) -> float:
    return max(ROLE[mention.role], ROLE["subj"]) if mention.topic else ROLE[mention.role]


def _decay(mention: Mention, need: Need, discourse: Discourse) -> float:
    """Messages in between cost weight; a topic fades less, until another takes its place."""
    age = discourse.age(mention)
    if not mention.topic or not _asks(need):
        return need.decay**age
    turns = {
        m.turn
        for m in discourse.topics()
        if m.turn > mention.turn and not m.same_thing(mention) and _agreement(m, need) >= NAMED
    }
    return float(TOPIC_DECAY**age * TOPIC_CHANGE ** len(turns))


def _form(mention: Mention) -> float:
    """What the mention's own form and place say, whatever refers to it."""
    return _place(mention) * _wording(mention)


def _wording(mention: Mention) -> float:
    weight = 1.0
    asked_for = mention.determiner in cc.WH and mention.role != "subj"
    if asked_for or mention.determiner in _NONSPECIFIC:
        weight *= VAGUE
    if mention.determiner in {"a", "an", "another", ""} and mention.verb in _CREATING:
        weight *= CREATED
    if mention.head in RELATIONAL_NOUNS:
        weight *= RELATIONAL
    if (mention.head in _VAGUE and not mention.modifiers) or is_time(mention):
        weight *= VAGUE
    if mention.label in _VALUE_LABELS or _is_light(mention):
        weight *= VALUE
    return weight


def _is_light(mention: Mention) -> bool:
    """The noun that carries the meaning of its verb: "give it a try", "have a look"."""
    return mention.head in _GIVEN and mention.verb in {"give", "have", "take"}


def _place(mention: Mention) -> float:
    weight = SUBORDINATE if mention.subordinate and not mention.topic else 1.0
    if mention.role == "obj" and mention.beside_subject:
        weight *= BESIDE_SUBJECT
    if mention.result:
        weight *= RESULT / ROLE["pobj"]
    elif mention.role == "obj" and mention.verb in {"replace", "swap", "rename"}:
        weight *= REPLACED
    if mention.negated:
        weight *= NEGATED
    if mention.verb in _DISMISSING and mention.role == "obj":
        weight *= DISMISSED
    if mention.prep in {"to", "as"} and mention.verb in _SETTING and not mention.result:
        weight *= VALUE
    return weight


def _agreement(mention: Mention, need: Need) -> float:
    weight = 1.0
    if need.number is not None and mention.number != need.number:
        unknown = mention.name_like and need.lenient and not mention.grouped
        named = GROUP if need.number == "pl" else NAMED
        somebody = need.number == "pl" and need.slot == "actor" and is_somebody(mention)
        weight *= named if unknown else GROUP if somebody else MISMATCH
    if need.person is False and (mention.person_like or mention.label == "ROLE"):
        weight *= PERSON_LIKE
    if need.person is not None and mention.person != need.person:
        may_be_one = need.person and mention.name_like and need.lenient
        weight *= NAMED if may_be_one else MISMATCH
    return weight
