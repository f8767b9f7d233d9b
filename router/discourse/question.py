"""A question of the conversation, taken apart, so that a later message can lean on it.

"By when does the Servicer have to make advances?" has a wh-phrase, an auxiliary, a subject and
a predicate (Quirk et al., A Comprehensive Grammar of the English Language, 11.4-11.23).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kds.router.discourse.mention import Mention, acts
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import gerund, third_person
from kds.router.language.words import Analysis, Word

Span = tuple[int, int]
_PEOPLE: Final = frozenset("i you we he she they who".split())
_CONDITIONS: Final = frozenset("if when unless once whenever".split())
_ADVERBIAL: Final = frozenset("why when where".split())
_MANNER: Final = words("qualities", "manner")
_LIGHT: Final = (("have", "to"), ("need", "to"), ("got", "to"), ("get", "to"), ("want", "to"))


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
    def start(self) -> int:
        """First word of the main question."""
        return self.wh[0] if self.wh[0] < self.wh[1] else (self.aux if self.aux is not None else 0)

    @property
    def first(self) -> int:
        """First word with the clause in front."""
        return self.fronted[0] if self.fronted[0] < self.fronted[1] else self.start

    @property
    def end(self) -> int:
        """One past its last word."""
        return max(self.predicate[1], self.subject[1], self.wh[1])

    @property
    def is_polar(self) -> bool:
        """True for a question that yes or no answers."""
        return self.wh[0] == self.wh[1]

    @property
    def is_vague(self) -> bool:
        """ "How long does that take?", when nothing told what "that" is."""
        words = self.words[self.subject[0] : self.subject[1]]
        return len(words) == 1 and words[0].lower in cc.DEMONSTRATIVES

    @property
    def being(self) -> str:
        """The auxiliary where it is a form of "be", else ""."""
        aux = self.words[self.aux].lower if self.aux is not None else ""
        return aux if aux in cc.BE else ""

    @property
    def wh_is_adverbial(self) -> bool:
        """When, where, why, how, by what date: what can go without leaving a hole."""
        words = self.words[self.wh[0] : self.wh[1]]
        if not words:
            return False
        first = words[0].lower
        manner = first == "how" and (len(words) == 1 or words[1].lower in _MANNER)
        return first in _ADVERBIAL or words[0].pos == "ADP" or (manner and len(words) <= 2)

    @property
    def copular(self) -> bool:
        """ "What is X?", "How long is X?": the subject is all there is."""
        return self.predicate[0] == self.predicate[1]

    @property
    def words(self) -> tuple[Word, ...]:
        """Words of the whole message."""
        return self.analysis.words

    def span(self, span: Span) -> str:
        """The text of a span."""
        return self.analysis.span(*span)

    @cached_property
    def text(self) -> str:
        """The question without lead-ins and mark: "When may the Servicer resign"."""
        return self.analysis.span(self.first, self.end)

    @cached_property
    def main(self) -> str:
        """The same without a clause in front, as a direct question."""
        if not self.indirect:
            return self.analysis.span(self.start, self.end)
        asked = [self.span(self.wh)] if not self.is_polar else []
        if self.aux is not None:
            return " ".join([*asked, self.words[self.aux].text, self.subject_text, self.said])
        helper = "do" if self.is_plural else "does"
        verb = self.words[self.predicate[0]]
        said = self.said.replace(verb.text, verb.lemma, 1)
        return " ".join([*asked, helper, self.subject_text, said])

    @property
    def said(self) -> str:
        """The text of the predicate."""
        return self.span(self.predicate)

    @property
    def subject_mention(self) -> Mention | None:
        """The head of the subject."""
        first, stop = self.subject
        return next((m for m in self.mentions if first <= m.start < stop), None)

    @property
    def condition(self) -> Span:
        """The if-clause at the end ("when a response is stale"); empty when there is none."""
        for i in range(self.predicate[0] + 1, self.predicate[1]):
            before = self.words[i - 1]
            opens = self.words[i].lower in _CONDITIONS and before.lower not in {"even", "only"}
            if opens and self.words[i].pos in {"SCONJ", "ADV"}:
                return i, self.predicate[1]
        return self.predicate[1], self.predicate[1]

    @property
    def is_agentive(self) -> bool:
        """Somebody does something: the subject is a person, a role, or one who speaks."""
        mention = self.subject_mention
        first = self.words[self.subject[0]].lower if self.subject[0] < self.subject[1] else ""
        return first in _PEOPLE or (mention is not None and acts(mention))

    @property
    def action(self) -> str:
        """The predicate from its main verb on, in the base form: "make advances"; else ""."""
        said = self.span(self._bare_predicate())
        if said[:3] == "do " and self.span(self.wh).lower() == "what":
            said = f"do something {said[3:]}"  # "What must X do about Y?"
        return said

    def _bare_predicate(self) -> Span:
        first, stop = self.predicate
        stop = min(stop, self.condition[0])
        if (
            stop - first > 2
            and (self.words[first].lower, self.words[first + 1].lower) in _LIGHT
            and self.words[first + 2].pos in {"VERB", "AUX", "ADV"}
        ):
            first += 2
        return first, stop

    @property
    def verb(self) -> Word | None:
        """The main verb of the action."""
        first, stop = self._bare_predicate()
        while first < stop and self.words[first].pos in {"ADV", "PART"}:
            first += 1
        word = self.words[first] if first < stop else None
        return word if word is not None and word.pos in {"VERB", "AUX"} else None

    def doing(self) -> str:
        """The action as a noun: "making advances"; "" when there is none."""
        verb = self.verb
        if verb is None or verb.lower != verb.lemma:
            return ""
        return self.action.replace(verb.text, gerund(verb.lower), 1)

    def stated(self) -> str:
        """The yes-no question as a statement: "the Committee rejects a late application"."""
        if self.verb is None or not self.subject_text:
            return ""
        said = f"{self.being} {self.said}" if self.being else self.finite()
        return f"{self.subject_text} {said}" if said else ""

    def finite(self) -> str:
        """The action in the present tense: "makes advances"; "" when there is none."""
        verb = self.verb
        if verb is None or verb.lower != verb.lemma:
            return ""
        form = verb.lower if self.is_plural else third_person(verb.lower)
        return self.action.replace(verb.text, form, 1)

    @property
    def subject_text(self) -> str:
        """The subject as it was written."""
        return self.span(self.subject)

    @property
    def about(self) -> str:
        """What it is about, without an article: its topic, else its first noun."""
        inside = [m for m in self.mentions if self.fronted[0] <= m.start < self.end]
        named = [m for m in inside if m.determiner not in cc.WH and not m.parts]
        topic = next((m for m in named if m.topic), next(iter(named), None))
        return topic.text if topic is not None else self.text

    @property
    def is_plural(self) -> bool:
        """True when the subject wants "do" and not "does"."""
        first = self.words[self.subject[0]].lower if self.subject[0] < self.subject[1] else ""
        mention = self.subject_mention
        return first in {"i", "you", "we", "they"} or (
            mention is not None and mention.number == "pl"
        )
