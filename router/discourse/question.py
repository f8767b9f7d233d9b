"""A question of the conversation, taken apart, so that a later message can lean on it.

"By when does the Servicer have to make advances?" has a wh-phrase, an auxiliary, a subject and
a predicate (Quirk et al., A Comprehensive Grammar of the English Language, 11.4-11.23).
"""

from dataclasses import dataclass
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
_OBLIGING: Final = frozenset("have need got get want".split())


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
    def start(self) -> int:
        """First word of the main question."""
        return self.aux if self.is_polar and self.aux is not None else self.wh[0]

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
        return self.subject_text.lower() in cc.DEMONSTRATIVES

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
            return self.analysis.span(self.start, self.end)
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
        for i in range(first + 1, stop):
            opens = self.words[i].lower in _CONDITIONS and self.words[i].pos in {"SCONJ", "ADV"}
            if opens and self.words[i - 1].lower not in {"even", "only"}:
                return i, stop
        return stop, stop

    @property
    def is_agentive(self) -> bool:
        """Somebody does something: the subject is a person, a role, or one who speaks."""
        mention = self.subject_mention
        opening = self.subject_text.partition(" ")[0].lower()
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
        return word if word is not None and word.pos in {"VERB", "AUX"} else None

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
