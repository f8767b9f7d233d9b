"""The questions of a conversation, taken apart, so that a later message can lean on them.

"By when does the Servicer have to make advances?" has a wh-phrase, an auxiliary, a subject and
a predicate (Quirk et al., A Comprehensive Grammar of the English Language, 11.4-11.23).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from kds.router.discourse.history import Discourse, Moment
from kds.router.discourse.mentions import Mention, acts
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import gerund, third_person
from kds.router.language.words import Analysis, Word

Span = tuple[int, int]

REACH: Final = 3
"""Messages back: a question is still leaned on behind two that asked nothing."""

BRIEF: Final = 4
"""Words of a message that names nothing and so ends nothing: "Thanks!", "Got it"."""

KEPT: Final = 256
"""Questions kept, as analyses are."""

_PEOPLE: Final = frozenset("i you we he she they who".split())
_CONDITIONS: Final = frozenset("if when unless once whenever".split())
_ADVERBIAL: Final = frozenset("why when where".split())
_MANNER: Final = words("qualities", "manner")
_OBLIGING: Final = frozenset("have need got get want".split())
_LEADS: Final = frozenset({"CCONJ", "INTJ", "PUNCT", "SPACE"})
_INVERTING: Final = cc.FINITE_AUX | frozenset({"can't", "cannot", "'s", "'re"})
_ASKING: Final = cc.WH | _INVERTING
_FRONTED: Final = frozenset("if unless once after before while because".split())
_VERBAL: Final = frozenset({"VERB", "AUX"})
_TELLING: Final = re.compile(
    r"^(?:(?:please|so|and|ok|okay|hi|hello)\b[\s,]*)*(?:(?:can|could|would|will) you (?:please )?"
    r"(?:tell me|explain|say|check)|do you (?:know|happen to know)|(?:please )?tell me|"
    r"i(?:'d| would) like to know|i(?:'m| am) wondering|i wonder|i want to know)\s+"
    r"(?:(?:by|until|since|from|to|for|in|on|at|with|under|within|about|of) )?"
    r"(?P<word>whether|if|how|when|where|why|what|who|which)\b",
    re.I,
)


@dataclass(frozen=True)
class Question:
    """Word positions in ``analysis``; all spans exclude the question mark."""

    analysis: Analysis
    mentions: tuple[Mention, ...]
    fronted: Span
    """ "If it is a holiday," in front; empty when start and end are equal."""
    wh: Span
    """The wh-phrase with its preposition; empty in a yes-no question."""
    aux: int | None
    subject: Span
    """Empty when the wh-phrase is the subject ("Who pays the fee?")."""
    predicate: Span
    """What is said of the subject: "have to make advances"."""
    indirect: bool = False
    """Asked in a clause: "Could you tell me whether the policy covers floods?"."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Words of the whole message."""
        return self.analysis.words

    @property
    def first(self) -> int:
        """First word with the clause in front."""
        return self.fronted[0] if self.fronted[0] < self.fronted[1] else self.wh[0]

    @property
    def end(self) -> int:
        """One past its last word."""
        return max(self.predicate[1], self.subject[1], self.wh[1])

    @property
    def is_polar(self) -> bool:
        """True for a question that yes or no answers."""
        return self.wh[0] == self.wh[1]

    @property
    def being(self) -> str:
        """The auxiliary where it is a form of "be", else ""."""
        aux = self.words[self.aux].lower if self.aux is not None else ""
        return aux if aux in cc.BE else ""

    @property
    def wh_is_adverbial(self) -> bool:
        """When, where, why, how, by what date: what can go without leaving a hole."""
        asked = [word.lower for word in self.words[self.wh[0] : self.wh[1]]]
        if not asked or asked[0] in _ADVERBIAL or self.words[self.wh[0]].pos == "ADP":
            return bool(asked)
        return asked[0] == "how" and len(asked) <= 2 and _MANNER.issuperset(asked[1:])

    @property
    def copular(self) -> bool:
        """ "What is X?", "How long is X?": the subject is all there is."""
        return self.predicate[0] == self.predicate[1]

    def span(self, span: Span) -> str:
        """The text of a span."""
        return self.analysis.span(*span)

    @property
    def text(self) -> str:
        """The question without lead-ins and mark: "When may the Servicer resign"."""
        return self.analysis.span(self.first, self.end)

    @property
    def main(self) -> str:
        """The same without a clause in front, as a direct question."""
        if not self.indirect:
            return self.analysis.span(self.wh[0], self.end)
        verb = self.words[self.predicate[0]]
        helper, said = "do" if self.is_plural else "does", self.said
        if self.aux is not None:
            helper = self.words[self.aux].text
        else:
            said = said.replace(verb.text, verb.lemma, 1)
        return " ".join(filter(None, (self.span(self.wh), helper, self.subject_text, said)))

    @property
    def said(self) -> str:
        """The text of the predicate."""
        return self.span(self.predicate)

    @property
    def subject_text(self) -> str:
        """The subject as it was written."""
        return self.span(self.subject)

    @property
    def subject_mention(self) -> Mention | None:
        """The head of the subject."""
        first, stop = self.subject
        return next((m for m in self.mentions if first <= m.start < stop), None)

    @property
    def condition(self) -> Span:
        """The if-clause at the end ("when a response is stale"); empty when there is none."""
        first, stop = self.predicate
        inside = (i for i in range(first + 1, stop) if self.words[i].lower in _CONDITIONS)
        return next(inside, stop), stop

    @property
    def is_agentive(self) -> bool:
        """Somebody does something: the subject is a person, a role, or one who does things."""
        mention, opening = self.subject_mention, self.subject_text.partition(" ")[0].lower()
        return opening in _PEOPLE or (mention is not None and acts(mention))

    @property
    def is_plural(self) -> bool:
        """True when the subject wants "do" and not "does"."""
        mention = self.subject_mention
        plural = mention is not None and mention.number == "pl"
        return plural or self.subject_text.partition(" ")[0].lower() in {"i", "you", "we", "they"}

    @property
    def action(self) -> str:
        """The predicate from its main verb on, in the base form: "make advances"; else ""."""
        said = self.span(self._bare_predicate)
        if said[:3] == "do " and self.span(self.wh).lower() == "what":
            said = f"do something {said[3:]}"  # "What must X do about Y?"
        return said

    @property
    def _bare_predicate(self) -> Span:
        first, stop = self.predicate[0], self.condition[0]
        lowers = [word.lower for word in self.words[first:stop]]
        obliged = len(lowers) > 2 and lowers[0] in _OBLIGING and lowers[1] == "to"
        return first + 2 * obliged, stop

    @property
    def verb(self) -> Word | None:
        """The main verb of the action."""
        said = self.words[slice(*self._bare_predicate)]
        word = next((word for word in said if word.pos not in {"ADV", "PART"}), None)
        return word if word is not None and word.pos in _VERBAL else None

    def doing(self) -> str:
        """The action as a noun: "making advances"; "" when there is none."""
        verb = self.verb
        if verb is None or verb.lower != verb.lemma:
            return ""
        return self.action.replace(verb.text, gerund(verb.lower), 1)

    def finite(self) -> str:
        """The action in the present tense: "makes advances"; "" when there is none."""
        verb = self.verb
        if verb is None or verb.lower != verb.lemma:
            return ""
        form = verb.lower if self.is_plural else third_person(verb.lower)
        return self.action.replace(verb.text, form, 1)

    @property
    def about(self) -> str:
        """What it is about, without an article: its topic, else its first noun."""
        inside = (m for m in self.mentions if self.fronted[0] <= m.start < self.end)
        named = [m for m in inside if m.determiner not in cc.WH and not m.parts]
        topic = next((m for m in named if m.topic), next(iter(named), None))
        return topic.text if topic is not None else self.text


def last_question(discourse: Discourse) -> Question | None:
    """The newest question; what asks nothing in between ("Thanks", a bare fragment) is skipped.

    A command or a statement ends its reach: what follows goes on with that.
    """
    for moment in discourse.moments[: -REACH - 1 : -1]:
        if (question := question_of(moment)) is not None:
            return question
        says = any(clause.verb is not None for clause in moment.analysis.clauses)
        if says and (moment.mentions or len(moment.analysis.words) > BRIEF):
            return None
    return None


def questions(discourse: Discourse) -> Iterator[Question]:
    """Every question of the last messages, newest first."""
    found = map(question_of, discourse.moments[: -2 * REACH - 1 : -1])
    return (question for question in found if question is not None)


def question_of(moment: Moment) -> Question | None:
    """The last question that a message asks."""
    return _parsed(moment.analysis, moment.mentions)


@lru_cache(maxsize=KEPT)
def _parsed(analysis: Analysis, mentions: tuple[Mention, ...]) -> Question | None:
    words = analysis.words
    ends = [i for i, word in enumerate(words) if word.text in ".!?" or word.pos == "SPACE"]
    for first, after in reversed([*pairwise([0, *(i + 1 for i in ends), len(words) + 1])]):
        stop = after - 1  # without the sign
        found = _told(analysis, mentions, first, stop)
        if found or (first < stop and (found := _main(analysis, mentions, first, stop))):
            return found
    return None


def _told(
    analysis: Analysis, mentions: tuple[Mention, ...], first: int, stop: int
) -> Question | None:
    """ "Could you tell me whether S?": S as a question."""
    words = analysis.words
    match = _TELLING.match(analysis.span(first, stop))
    if match is None:
        return None
    offset = words[first].start + match.start("word")
    at = next(i for i in range(first, stop) if words[i].end > offset)
    asked = match["word"].lower() not in {"whether", "if"}
    subject = at + 1
    while subject < stop and words[subject].lower in cc.WH | {"long", "much", "often"}:
        subject += 1
    verb = next((i for i in range(subject + 1, stop) if words[i].pos in _VERBAL), None)
    if verb is None:
        return None
    inverting = words[verb].lower in _INVERTING and not _is_obliged(words, verb)
    aux = verb if inverting and verb + 1 < stop else None
    predicate = (verb if aux is None else verb + 1, stop)
    wh = (at, subject if asked else at)
    return Question(
        analysis, mentions, (first, first), wh, aux, (subject, verb), predicate, indirect=True
    )


def _is_obliged(words: Sequence[Word], at: int) -> bool:
    """ "have to"."""
    return words[at].lower in cc.HAVE and any(one.lower == "to" for one in words[at + 1 : at + 2])


def _main(
    analysis: Analysis, mentions: tuple[Mention, ...], start: int, stop: int
) -> Question | None:
    """A direct question, with a clause in front of it ("If it is a holiday, how late ...")."""
    words = analysis.words
    while start < stop and words[start].pos in _LEADS:
        start += 1
    front = start
    if start < stop and words[start].lower in _FRONTED:
        asks = (i + 1 for i in range(start, stop - 1)
                if words[i].text in ",:" and words[i + 1].lower in _ASKING)  # fmt: skip
        start = next(asks, stop)
    if start >= stop:
        return None
    governed = words[start].pos == "ADP" and start + 1 < stop
    opens = words[start + governed].lower in cc.WH
    at = start
    while opens and at < stop and words[at].pos not in _VERBAL:
        at += 1
    if at >= stop:
        return None
    inverted = words[at].lower in _INVERTING and not (opens and _is_obliged(words, at))
    subject, predicate = (
        _arguments(analysis, opens, at, stop) if inverted else ((at, at), (at, stop))
    )
    has = opens and words[at].lower in cc.HAVE and predicate[0] == predicate[1]
    if has or not inverted:  # "Who has access?", "Who approves it?"
        subject, predicate = (at, at), (at, stop)
    if subject[0] == subject[1] and not opens:
        return None
    aux = None if has or not inverted else at
    return Question(analysis, mentions, (front, start), (start, at), aux, subject, predicate)


def _arguments(analysis: Analysis, opens: bool, aux: int, stop: int) -> tuple[Span, Span]:
    """Subject and predicate behind the auxiliary."""
    words = analysis.words
    first = aux + 1
    while first < stop and words[first].lower in {"n't", "not"}:
        first += 1
    if first >= stop or words[first].pos in _VERBAL:  # "Who can approve it?"
        return (first, first), (first, stop)
    phrase = analysis.phrase_at.get(first)
    after = phrase.end if phrase is not None else first + 1
    copula = words[aux].lower in cc.BE
    for i in range(after, stop):
        said = words[i].pos == "ADJ" and i not in analysis.phrase_at and copula
        if said or words[i].pos in _VERBAL:
            return (first, i), (i, stop)
    end = stop if copula and opens else min(after, stop)
    return (first, end), (end, stop)


class Difference(NamedTuple):
    """Two questions alike but for one part: the words of it in each."""

    first: Span
    second: Span


def difference(one: Question, two: Question) -> Difference | None:
    """Where two questions differ, when they are alike in everything else."""
    a, b = (question.words[question.first : question.end] for question in (one, two))
    left = right = 0
    while left < min(len(a), len(b)) and a[left].lower == b[left].lower:
        left += 1
    while right < min(len(a), len(b)) - left and a[-1 - right].lower == b[-1 - right].lower:
        right += 1
    first, second = a[left : len(a) - right], b[left : len(b) - right]
    verbal = any(w.pos in _VERBAL for w in (*first, *second))
    if not first or not second or verbal or left + right < max(3, len(first), len(second)):
        return None
    return Difference(_phrase(one, first), _phrase(two, second))


def _phrase(question: Question, words: Sequence[Word]) -> Span:
    """The phrase around the words that differ: "video mode" for "video"."""
    start, stop = words[0].i, words[-1].i + 1
    for phrase in question.analysis.phrases:
        if phrase.start < stop and start < phrase.end:
            start, stop = min(start, phrase.start), max(stop, phrase.end)
    return start, stop
