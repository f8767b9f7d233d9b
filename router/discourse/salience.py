"""How easily a mention comes to mind: the score by which antecedents compete.

After Lappin and Leass (1994): grammatical role, recency and repetition, with agreement as a
strong preference; plus selection (what a verb is usually done to), the mood of commands, and the
place of the pronoun. Of "the Tenant" and "the deposit", the tenant has, pays and decides, and the
deposit is paid, returned and due; classes of verbs after Levin, English Verb Classes and
Alternations (1993): happening and being (45-48), and verbs whose object is a person (29, 31, 33,
37). The weights are set on the development dialogues.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, Literal

from kds.router.discourse.history import Discourse
from kds.router.discourse.mentions import Mention, Mood, agency, is_somebody, is_time
from kds.router.english import table, words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Number, Role, Word

Slot = Literal["actor", "thing", ""]

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
TOPIC_CHANGE: Final = 0.65
PERSON_LIKE: Final = 0.5
REPLY: Final = 0.2
"""What the assistant said weighs less than what the user said."""
NEGATED: Final = 0.2
"""What was named to be left out: "a file, not stdout"."""
RESULT: Final = 2.0
REPLACED: Final = 0.55
FOCUS: Final = 1.35
REPEATED: Final = 0.12
SAME_VERB: Final = 1.5
PREFERRED: Final = 1.7
SOMEBODY: Final = 0.7
"""Somebody in the singular, as the antecedent of they."""
MISMATCH: Final = 0.06
VALUE: Final = 0.25
"""A value, or a span of time: hardly a thing to talk about."""

QUESTIONED: Final = 0.65
"""Things only asked about, when the message is a command: commands go on with what is built."""

REFINED: Final = 0.7
"""A part that was added since, in a question: it is about what is being built."""

FITS: Final = 3.2
"""Somebody where an actor is asked for: more than the topic counts, since questions are mostly
about the thing, and it is not the thing that has, pays and decides."""
FADING: Final = 0.6
"""What is left of that with each message in between: a newer thing may act ("does it print")."""
BESIDE: Final = 0.3
"""What is left of it for somebody who was not a subject ("a report for the finance team")."""
MISFITS: Final = 0.25
"""Somebody where a thing is asked for ("is it paid", "when is it due")."""

_VERBS: Final = table("verbs")
_GIVEN: Final = words("nouns", "given")
_VALUE_LABELS: Final = frozenset({"COLOR", "DAY", "MONTH", "NUMBER"})
_OF_ACTORS: Final = words("qualities", "of_actors")
WHEN: Final = frozenset({"since", "until", "during"})
"""Prepositions of a time or an event that something is dated by."""

_OBLIGED: Final = frozenset({"have", "need", "want", "get", "be"})


@dataclass(frozen=True, slots=True)
class Selection:
    """What is usually done to what: ``verbs`` or ``predicates`` prefer these ``things``.

    A thing is a head noun ("migration"), or the label of an entity in capitals ("UI").
    """

    things: frozenset[str]
    verbs: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Selections, and which shapes, labels and heads a type noun stands for."""

    selections: tuple[Selection, ...] = ()
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Type noun -> heads, labels or shape kinds that it covers ("file" -> path)."""
    surfaces: frozenset[str] = frozenset()
    """Heads and labels of things that one puts something *on* (page, screen)."""

    def prefers(self, verb: str, complement: str, mention: Mention) -> bool:
        """True when the verb or the predicate is known to go with such a thing."""
        return any(
            (verb in one.verbs or complement in one.predicates) and _is_one_of(mention, one.things)
            for one in self.selections
        )

    def is_a(self, mention: Mention, type_noun: str) -> bool:
        """True when ``type_noun`` ("file", "page") can stand for the mention."""
        covered = self.types.get(type_noun, frozenset())
        return mention.head == type_noun or _is_one_of(mention, covered)

    def is_surface(self, mention: Mention) -> bool:
        """True for things that one puts something on and not in."""
        return _is_one_of(mention, self.surfaces)


def _is_one_of(mention: Mention, things: frozenset[str]) -> bool:
    return not things.isdisjoint((mention.head, mention.label, mention.kind))


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
        same = (thing for thing in things if any(mention.same_thing(known) for known in thing))
        if (found := next(same, None)) is not None:
            found.append(mention)
        else:
            things.append([mention])
    candidates = []
    for thing in things:
        weight = max(_weight(mention, need, discourse, knowledge) for mention in thing)
        weight *= 1.0 + REPEATED * min(len({mention.turn for mention in thing}) - 1, 3)
        weight *= _fitness(thing, need, discourse)
        quoted = max(thing, key=lambda m: (len(m.modifiers) + bool(m.name), m.topic, m.turn))
        candidates.append(Candidate(quoted, weight / FULL))
    return sorted(candidates, key=lambda c: -c.score)


def margin(candidates: Sequence[Candidate]) -> float:
    """Lead of the best over the second as a share of the best; 1 when alone."""
    if len(candidates) < 2:
        return 1.0
    best, second = candidates[0].score, candidates[1].score
    return (best - second) / best


def _weight(mention: Mention, need: Need, discourse: Discourse, knowledge: Knowledge) -> float:
    moment, age = discourse.moments[mention.turn], discourse.age(mention)
    weight = max(ROLE[mention.role], ROLE["subj"] * mention.topic)
    weight *= _form(mention) * _agreement(mention, need)
    # questions go on with the topic of the talk, until it changes, or a command is about another
    if mention.topic and need.mood != "imperative" and not _is_left(mention, need, discourse):
        changed = {
            other.turn
            for other in discourse.topics()
            if other.turn > mention.turn
            and not other.same_thing(mention)
            and _agreement(other, need) >= 1.0
        }
        weight *= TOPIC * TOPIC_CHANGE ** len(changed) * TOPIC_DECAY**age
    else:
        weight *= need.decay**age
    if need.slot == "thing" and mention.mood == "question" and _is_dealt_with(mention, discourse):
        weight *= DEALT_WITH
    if need.mood == "question" and _is_refined(mention, need, discourse):
        weight *= REFINED
    sole = not age and len(moment.mentions) == 1  # "Is the changelog generated?"
    if (
        need.mood == "imperative"
        and mention.mood == "question"
        and not sole
        and _is_built(discourse)
    ):
        weight *= QUESTIONED
    verb = need.verb.partition(" ")[0]
    if need.role == mention.role == "subj" and verb == mention.verb not in {"", "be", "do"}:
        weight *= SAME_VERB
    if mention.reply:
        weight *= REPLY
    if knowledge.prefers(need.verb, need.complement, mention):
        weight *= PREFERRED
    return weight * FOCUS if moment.focus == mention else weight


def _is_left(topic: Mention, need: Need, discourse: Discourse) -> bool:
    """Whether something else was acted on since."""
    return any(
        other.turn > topic.turn
        and other.role == "obj"
        and other.mood == "imperative"
        and not (other.reply or other.same_thing(topic))
        and _agreement(other, need) >= 1.0
        for other in discourse.mentions()
    )


def _is_refined(mention: Mention, need: Need, discourse: Discourse) -> bool:
    """Whether a command about it went on with what was being built: "add a short fade-in"."""
    told = mention.role == "obj" and mention.mood == "imperative" and not mention.reply
    return told and any(
        other.turn < mention.turn
        and other.brought_up
        and not other.same_thing(mention)
        and _agreement(other, need) >= 1.0
        for other in discourse.mentions()
    )


def _is_built(discourse: Discourse) -> bool:
    """Whether something was asked for: commands go on with that."""
    return any(mention.mood == "imperative" for mention in discourse.mentions())


def _form(mention: Mention) -> float:
    """What the mention's own form and place say, whatever refers to it."""
    weight = 1.0
    if mention.determiner in {"a", "an", "another", ""} and mention.verb in _VERBS["creating"]:
        weight *= CREATED
    predicate = mention.verb == "be" and mention.role == "none" and mention.mood == "question"
    if predicate and (mention.beside_subject or mention.determiner in {"a", "an"}):
        weight *= VALUE  # "is nginx a proxy?", "could nginx be the reason?"
    light = mention.head in _GIVEN and mention.verb in {"give", "have", "take"}
    when = is_time(mention) or mention.prep in WHEN
    if light or mention.label in _VALUE_LABELS or when:
        weight *= VALUE
    if mention.subordinate and not mention.topic:
        weight *= SUBORDINATE
    if mention.negated:
        weight *= NEGATED
    if mention.result:
        return weight * RESULT
    if mention.role == "obj":
        weight *= BESIDE_SUBJECT if mention.beside_subject else 1.0
        weight *= REPLACED if mention.verb in {"replace", "swap", "rename"} else 1.0
        weight *= MEANS if mention.verb == "use" else 1.0
    return weight


def _agreement(mention: Mention, need: Need) -> float:
    """1 where number and person fit, or a name tells of neither."""
    several = need.number == "pl" and need.mood == "imperative"  # "list them": no party
    weight, unknown = 1.0, mention.name_like and need.lenient and not several
    if need.number not in {None, mention.number} and not unknown:
        somebody = need.number == "pl" and need.slot == "actor" and is_somebody(mention)
        weight *= SOMEBODY if somebody else MISMATCH
    if need.person is False and (mention.person_like or mention.label == "ROLE"):
        weight *= PERSON_LIKE
    if need.person not in {None, mention.person} and not (need.person and unknown):
        weight *= MISMATCH
    return weight


def _fitness(thing: Sequence[Mention], need: Need, discourse: Discourse) -> float:
    """How well what was mentioned fits the place of the reference: 1 when nothing is known."""
    if need.slot == "thing":
        return MISFITS if any(agency(m) == 1.0 for m in thing) else 1.0
    if not need.slot:
        return 1.0
    sure = max(agency(m) * (1.0 if m.role == "subj" else BESIDE) for m in thing)
    return float(1.0 + (FITS - 1.0) * sure * FADING ** min(discourse.age(m) for m in thing))


def _is_dealt_with(mention: Mention, discourse: Discourse) -> bool:
    """The object of somebody's duty or right: what a question about it is about as well."""
    return (
        mention.role == "obj"
        and mention.beside_subject
        and any(
            other.role == "subj" and other.end <= mention.start and agency(other) == 1.0
            for other in discourse.moments[mention.turn].mentions
        )
    )


def slot_of(analysis: Analysis, i: int, role: Role, verb: str) -> Slot:
    """What the pronoun at word ``i`` stands for by its place; "" when it may be either."""
    if role in {"poss", "none"}:
        return ""
    if role != "subj":
        return "thing"
    clause = analysis.clauses[analysis.clause_of(i)]
    inverted = any(word.lemma == "be" for word in analysis.words[max(i - 1, 0) : i])
    return _said_of(analysis.words[i + 1 : clause.end], being=inverted)


def _said_of(rest: Sequence[Word], *, being: bool) -> Slot:
    """What the predicate behind a subject says it is."""
    obliged = False
    for word, after in zip_longest(rest, rest[1:]):
        if word.pos in {"ADV", "PART"} or (word.pos == "AUX" and word.lower in cc.MODALS | cc.DO):
            continue
        if word.lemma == "be":
            being = True
            continue
        if being:
            licensed = word.lemma in _VERBS["licensing"] or word.lower in _OF_ACTORS
            return "actor" if licensed else "thing"
        if word.lemma in _OBLIGED and after is not None and after.lower in {"to", "be", "been"}:
            obliged = True
            continue
        if word.pos not in {"VERB", "AUX"}:
            return ""
        taken = after is not None and after.pos in {"DET", "PRON", "NOUN", "PROPN"}
        happens = word.lemma in _VERBS["happening"]
        if happens or (word.lemma in _VERBS["alternating"] and not taken):
            return "" if obliged else "thing"
        return "actor"
    return "thing" if being else ""
