"""When a reference is left as typed: vetoes against an antecedent, and what then stays open.

A wrong rewrite is worse than none. Salience says what comes to mind; it does not see that the
message before put a value right, or brought up something newer. What is left unresolved is named:
a language model may be asked then, and only then (`rewriting`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.router.discourse.history import Moment
from kds.router.discourse.mentions import Mention, is_time, judged
from kds.router.discourse.salience import Need
from kds.router.english import table, words
from kds.router.language import closed_class as cc
from kds.router.language.analysis import ANALYSED_CHARS
from kds.router.language.lexicon import readings
from kds.router.references.ruleset import AntecedentNeed, Rule
from kds.router.references.scene import Choice, Found, Scene, Span, covered

_PLAIN: Final = re.compile(r"\b(?:it|they|them|that|this|these|those|one|ones|there)\b", re.I)
_DUMMY: Final = re.compile(
    r"\b(?:(?:is|was|would|will) it \w+ (?:to|that|for)|does it (?:cost|take|matter)|"
    r"(?:is|are|was|were|will|would) there|there (?:is|are|was|were)|"
    r"(?:that|this|these|those|one) (?!and\b|or\b|in\b|on\b|at\b|for\b|so\b|by\b)[a-z]+)\b",
    re.I,
)
_BY_PRODUCTS: Final = words("nouns", "by_products")
_USUAL_NOUNS: Final = table("preferences")["noun_first"]
_PUTTING_RIGHT: Final = re.compile(
    r"\b(?:i|we) mean(?:t)?\b|^\W*(?:no|nope|nah|not)\b.*\b(?:not|instead|rather|but)\b", re.I
)
_CREATING: Final = words("verbs", "creating") | {"make"}
_MENDING: Final = words("verbs", "mending")
_BESIDE: Final = 2
"""Words from "a test" to "the parser" of "a test for the parser"."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A singular pronoun at word ``i`` that is about to be taken for ``chosen``."""

    scene: Scene
    i: int
    need: Need
    chosen: Mention
    moment: Moment
    """The newest message that names anything: "go ahead" names nothing."""

    @property
    def preferred(self) -> bool:
        """Whether the verb or the quality goes with the thing."""
        need = self.need
        return self.scene.knowledge.prefers(need.verb, need.complement, self.chosen)

    def known(self) -> Iterator[Mention]:
        """What was said of the same thing."""
        return (m for m in self.scene.discourse.mentions() if m.same_thing(self.chosen))


def reservation(scene: Scene, i: int, choice: Choice) -> str:
    """Why the word at ``i`` is rather left than taken for the choice; "" for no reason."""
    chosen, said = choice.mention, scene.lower(i)
    if said in {"this", "that"} and chosen.number == "pl":
        return "it is several, and one is meant"
    moment = next((m for m in reversed(scene.discourse.moments) if m.mentions), None)
    if moment is None or said not in {"it", "its", "this", "that"}:
        return ""
    case = _Case(scene, i, scene.need_at(i, AntecedentNeed()), chosen, moment)
    asked = case.need.mood == "question" and not scene.is_commanded(i)
    vetoes = _VETOES if asked else _VETOES | _OF_OTHERS
    return next((reason for reason, holds in vetoes.items() if holds(case)), "")


def _is_hardly_a_thing(case: _Case) -> bool:
    """ "drop" of "drag and drop", "long" of "too long": one word, as often a verb or an adjective,
    that is usually no noun, where nothing is made.
    """
    mention = case.chosen
    plain = mention.determiner == "" and not mention.modifiers and mention.head_text.islower()
    if not plain or mention.kind or mention.label or mention.number == "pl":
        return False
    word = readings(mention.head)
    other = bool(word.adjective) or word.verb == mention.head
    return other and mention.verb not in {*_CREATING, "use"} and mention.head not in _USUAL_NOUNS


def _is_by_product(case: _Case) -> bool:
    """ "Add a test for the parser": the talk is still about the parser, unless the verb is one for
    tests ("run it")."""
    mention = case.chosen
    if mention.head not in _BY_PRODUCTS or mention.verb not in _CREATING:
        return False
    said = case.scene.discourse.moments[mention.turn].mentions
    of = any(0 < m.start - mention.end <= _BESIDE and m.prep for m in said)
    return of and not case.preferred


def _is_only_asked_about(case: _Case) -> bool:
    """ "Does it work with a keyboard?": nobody has one, and nothing changes it. Commands go on with
    what is being built, and not with what a question names."""
    scene, known = case.scene, [*case.known()]
    said = scene.discourse.moments
    # "Where do we keep the secret? / Move it to the vault"
    sole = len(known) == len(said[-1].mentions) == 1 and known[0].turn == len(said) - 1
    means = all(m.prep and m.determiner in {"a", "an"} for m in known)
    built = scene.is_commanded(case.i) and any(
        (m.brought_up or (m.role == "obj" and m.verb in _CREATING)) and m.mood != "question"
        for m in scene.discourse.mentions()
        if m.number == case.chosen.number
    )
    asked = all(m.mood == "question" and "?" in said[m.turn].expanded for m in known)
    return asked and (means or (built and not sole))


def _judges_a_deed(case: _Case) -> bool:
    """ "It's too slow", of what was not brought up as a thing: what was done may be meant."""
    alone = case.i not in case.scene.analysis.phrase_at  # not "its error messages"
    if not alone or case.need.role not in {"subj", "none"}:
        return False
    established = any(m.brought_up or m.topic or m.verb in _CREATING for m in case.known())
    return judged(case.scene.analysis, case.i) and not established


def _mends_what_was_told(case: _Case) -> bool:
    """ "The resolver makes a query a row / solve this with a loader": not the resolver."""
    said = case.scene.discourse.moments[case.chosen.turn].mentions
    new = (m for m in said if m.role == "obj" and m.determiner in {"a", "an", ""})
    does = any(m.beside_subject and not is_time(m) for m in new)
    told = does and case.chosen.role == "subj" and case.chosen.mood == "statement"
    pointing = case.scene.lower(case.i) in {"this", "that"}
    return pointing and told and case.need.verb in _MENDING


def _destroys_one_of_two(case: _Case) -> bool:
    """Another thing of the same message may be meant; not where the verb goes with one alone."""
    prefers, verb = case.scene.knowledge.prefers, case.need.verb
    choosy = prefers(verb, "", case.chosen)
    return case.scene.is_destructive and any(
        other.number == case.chosen.number
        and not (is_time(other) or other.same_thing(case.chosen))
        and (not choosy or prefers(verb, "", other))
        for other in case.moment.mentions
    )


def _is_passed(case: _Case) -> bool:
    """Another thing was brought up after it, and goes with the verb as well. What one is told to
    use is the means."""
    knowledge, need = case.scene.knowledge, case.need
    named = max((m.turn for m in case.known()), default=case.chosen.turn)
    return any(
        m.turn > named
        and m.brought_up
        and m.number == case.chosen.number
        and m.verb != "use"
        and (not case.preferred or knowledge.prefers(need.verb, need.complement, m))
        for moment in case.scene.discourse.moments
        for m in moment.mentions
    )


_Vetoes = dict[str, Callable[[_Case], bool]]

_VETOES: Final[_Vetoes] = {
    "an event is not a thing": lambda case: case.need.verb in {"happen", "occur"},
    "the message before puts a value right": lambda case: bool(
        _PUTTING_RIGHT.search(case.moment.analysis.text) and not case.chosen.is_name
    ),
}
"""Reasons to leave a reference, and when they hold."""

_OF_OTHERS: Final[_Vetoes] = {
    "it is hardly a thing": _is_hardly_a_thing,
    "it was made for something else": _is_by_product,
    "it was only asked about": _is_only_asked_about,
    "what was done may be meant": _judges_a_deed,
    "what was told may be meant": _mends_what_was_told,
    "of two things one would be destroyed": _destroys_one_of_two,
    "something newer may be meant": _is_passed,
}
"""Those of commands and statements; a question changes nothing."""


def borrows_pronoun(text: str, message: str) -> bool:
    """Whether ``text`` has a pronoun of the message before, which nobody wrote out: "do it at 4am"
    says no more than what leans on it.
    """
    said = {word.lower() for word in _PLAIN.findall(message)}
    return any(word.lower() not in said for word in _PLAIN.findall(_DUMMY.sub("", text)))


ELLIPTIC_WORDS: Final = 9
"""A longer message without a verb is a title, a pasted line or a list, and stands alone."""

_REST: Final = re.compile(
    r"\bthe (?:(?:others|rest|remainder)\b(?! of| api| call)|(?:former|latter)\b(?= *(?:$|[.,?!]))"
    r"|above\b(?= *(?:$|[.,?!]| (?:to|for|in|is|does|also|apply|hold)\b)))",
    re.IGNORECASE,
)
"""What is said of several things, without a noun of its own."""
_ASKING_AGAIN: Final = frozenset({*cc.WH, "and", "or", "but", "so", "same", "any"})
_NOMINAL: Final = frozenset({"NOUN", "PROPN", "PRON"})


def find_unresolved(scene: Scene, rules: Iterable[Rule], found: Sequence[Found]) -> tuple[str, ...]:
    """Return the words of ``scene`` that need an antecedent and got none, in text order.

    ``found`` is what the rules made of the message. Without a conversation before it nothing
    can point back.
    """
    text = scene.analysis.text
    if not scene.discourse or len(text) >= ANALYSED_CHARS or any(f.whole for f in found):
        return ()
    edits = [edit for one in found for edit in one.edits]
    done = {word for edit in edits for word in text[edit.start : edit.end].split()}
    left = [one.left for one in found if one.left and one.left not in done]
    left += (
        text[start:end]
        for start, end in _pointing(scene, tuple(rules))
        if not any(edit.start < end and start < edit.end for edit in edits)
    )
    if not (left or edits) and _leans(scene):
        left = [text.strip()]
    return tuple(dict.fromkeys(left))


def _pointing(scene: Scene, rules: Sequence[Rule]) -> Iterator[Span]:
    """Words and noun phrases whose rules say nothing when they abstain."""
    text = scene.analysis.text
    for i, word in enumerate(scene.words):
        if _points(scene, i) and not any(covered(r, text, word.start, word.end) for r in rules):
            start = i  # of "the other one"
            while scene.pos(start - 1) in {"DET", "ADJ", "NUM"}:
                start -= 1
            yield scene.chars(start, i + 1)
    known = {one.head for one in scene.discourse.mentions()}
    for phrase in scene.analysis.phrases:  # "that file", when nothing was called a file yet
        if phrase.determiner in cc.DEMONSTRATIVES and phrase.end - phrase.start > 1:
            mention = next((m for m in scene.mentions if m.start == phrase.start), None)
            named = mention is None or mention.kind or is_time(mention) or mention.head in known
            if not named:
                yield scene.chars(phrase.start, phrase.end)
    yield from (match.span() for match in _REST.finditer(text))


def _points(scene: Scene, i: int) -> bool:
    """ "one", "both", "either", "there" and, in a question, "that" and "else" without a noun."""
    word, lower, before, after = scene.words[i], scene.lower(i), scene.pos(i - 1), scene.pos(i + 1)
    if lower in {"one", "ones"}:
        return word.pos == "PRON" and before not in {"ADP", ""}
    if lower == "both":
        return i not in scene.analysis.phrase_at
    if lower == "either":
        return after in {"AUX", "VERB"}
    if lower == "there":
        return word.pos == "ADV" and i > 0 and after not in {"AUX", "VERB"}
    clause = scene.clause(i)
    if clause.mood != "question" or clause.subordinate:
        return False
    alone = word.pos in {"PRON", "DET"} and lower in cc.DEMONSTRATIVES
    behind = (w.pos for w in scene.words[i + 1 :] if w.pos not in {"ADJ", "NUM"})
    named = next(behind, "") in {"NOUN", "PROPN"}
    return (alone and not named and before not in _NOMINAL) or (lower == "else" and i > 0)


def _leans(scene: Scene) -> bool:
    """True for a question without a verb that goes on with the sentence before it."""
    words = scene.words
    if not words or len(words) > ELLIPTIC_WORDS or words[0].lower not in _ASKING_AGAIN:
        return False
    verbless = all(clause.verb is None for clause in scene.analysis.clauses)
    return verbless and scene.analysis.text.rstrip().endswith("?")
