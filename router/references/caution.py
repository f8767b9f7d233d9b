"""When an antecedent that fits is not taken all the same: a wrong rewrite is worse than none.

Salience says what comes to mind; it does not see that the message before was out for a deed, put a
value right, or brought up something newer. There the word is left as it was typed.
"""

import re
from typing import Final

from kds.router.discourse.history import Moment
from kds.router.discourse.mention import Mention, acts, is_somebody, is_time
from kds.router.discourse.purport import is_of_deed, judged, puts_right
from kds.router.english import table, words
from kds.router.language.lexicon import readings
from kds.router.references.rule import AntecedentNeed
from kds.router.references.scene import Choice, Scene

ALIKE: Final = 4
"""Letters with which two names begin that are names of one thing."""

_PLAIN: Final = re.compile(r"\b(?:it|they|them|that|this|these|those|one|ones|there)\b", re.I)
_DUMMY: Final = re.compile(
    r"\b(?:(?:is|was|would|will) it \w+ (?:to|that|for)|does it (?:cost|take|matter)|"
    r"(?:is|are|was|were|will|would) there|there (?:is|are|was|were)|"
    r"(?:that|this|these|those|one) (?!and\b|or\b|in\b|on\b|at\b|for\b|so\b|by\b)[a-z]+)\b",
    re.I,
)
_SINGULAR: Final = frozenset({"it", "its", "this", "that"})
_HAPPENING: Final = frozenset({"happen", "occur"})
_MAKING: Final = words("verbs", "creating") | {"use"}
_USUAL_NOUNS: Final = table("preferences")["noun_first"]
_BY_PRODUCTS: Final = words("nouns", "by_products")
_CREATING: Final = words("verbs", "creating") | {"make"}


def reservation(scene: Scene, i: int, choice: Choice, *, plural: bool) -> str:
    """Why the word at ``i`` is rather left than taken for the choice; "" when nothing speaks
    against it.
    """
    mood = scene.analysis.clauses[scene.analysis.clause_of(i)].mood
    if _is_glued(scene, i):
        return "another word is written onto it"
    if against := _of_number(scene, i, choice, plural=plural and mood != "question"):
        return against
    if _does_something(scene, i) and not acts(choice.mention):
        return "a thing does nothing"
    moment = _last_of_substance(scene)
    if moment is None or scene.words[i].lower not in _SINGULAR:
        return ""
    if scene.need_at(i, base=AntecedentNeed()).verb in _HAPPENING:
        return "an event is not a thing"
    if mood == "question" and i and scene.words[i - 1].lower == "do":
        return "an action is not a thing"
    if puts_right(moment.analysis) and not _replaces(scene, moment):
        return "the message before puts a value right"
    return "" if mood == "question" else _of_substance(scene, i, choice, moment)


def borrows_pronoun(text: str, message: str) -> bool:
    """Whether ``text`` has a pronoun of the message before, which nobody wrote out: "do it at 4am"
    says no more than what leans on it.
    """
    said = {word.lower() for word in _PLAIN.findall(message)}
    return any(word not in said for word in map(str.lower, _PLAIN.findall(_DUMMY.sub("", text))))


def _does_something(scene: Scene, i: int) -> bool:
    """ "they do it", "it does that": said of somebody."""
    return scene.lower(i + 1) in {"do", "does"} and scene.lower(i + 2) in _SINGULAR


def _is_glued(scene: Scene, i: int) -> bool:
    """ "theyre": two words with nothing between them."""
    follows = scene.word(i + 1)
    glued = follows is not None and follows.start == scene.words[i].end
    return glued and scene.lower(i + 1)[:1].isalpha()


def _of_number(scene: Scene, i: int, choice: Choice, *, plural: bool) -> str:
    if plural and _is_one(choice.mention):
        return "it is one, and several are meant"
    one = scene.words[i].lower in {"this", "that"}
    return "it is several, and one is meant" if one and choice.mention.number == "pl" else ""


def _of_substance(scene: Scene, i: int, choice: Choice, moment: Moment) -> str:
    if _is_hardly_a_thing(choice.mention):
        return f"'{choice.mention.text}' is hardly a thing"
    if _is_by_product(scene, i, choice.mention):
        return f"'{choice.mention.text}' was made for something else"
    if _is_deed(scene, i, choice, moment):
        return "what is to be done may be meant"
    if scene.is_destructive and _has_rival(scene, i, choice.mention, moment):
        return "of two things one would be destroyed"
    return "something newer may be meant" if _is_passed(scene, i, choice) else ""


def _is_by_product(scene: Scene, i: int, mention: Mention) -> bool:
    """ "Add a test for the parser": the talk is still about the parser, unless the verb is one for
    tests ("run it")."""
    if mention.head not in _BY_PRODUCTS or mention.verb not in _CREATING:
        return False
    moment = scene.discourse.moments[mention.turn]
    made_for = any(m.start >= mention.end and m.prep for m in moment.mentions)
    need = scene.need_at(i, base=AntecedentNeed())
    return made_for and not scene.knowledge.prefers(need.verb, need.complement, mention)


def _has_rival(scene: Scene, i: int, mention: Mention, moment: Moment) -> bool:
    """Another thing of the same message, unless the verb goes with the chosen one alone."""
    need = scene.need_at(i, base=AntecedentNeed())
    rivals = (m for m in moment.mentions if m.number == mention.number and not is_time(m))
    others = [m for m in rivals if not m.same_thing(mention)]
    if scene.knowledge.prefers(need.verb, "", mention):
        others = [m for m in others if scene.knowledge.prefers(need.verb, "", m)]
    return bool(others)


def _is_hardly_a_thing(mention: Mention) -> bool:
    """ "drop" of "drag and drop", "long" of "too long": one word, as often a verb or an adjective,
    that is usually no noun, where nothing is made.
    """
    plain = mention.determiner == "" and not mention.modifiers and mention.head_text.islower()
    if not plain or mention.kind or mention.label or mention.number == "pl":
        return False
    word = readings(mention.head)
    other = bool(word.adjective) or word.verb == mention.head
    return other and mention.verb not in _MAKING and mention.head not in _USUAL_NOUNS


def _replaces(scene: Scene, moment: Moment) -> bool:
    """A name in the place of one of the message before it is what the thing is called."""
    before = [m for earlier in scene.discourse.moments for m in earlier.mentions if m.is_name]
    names = [m for m in moment.mentions if m.is_name]
    return any(m.turn == name.turn - 1 and _are_alike(m, name) for name in names for m in before)


def _are_alike(one: Mention, other: Mention) -> bool:
    """ "AccountService" and "AccountManager"."""
    return one.head[:ALIKE] == other.head[:ALIKE]


def _is_one(mention: Mention) -> bool:
    """A plain noun in the singular: no name, which may be one of several, and no group; nor, in a
    question, somebody ("Does a contractor get paid leave?").
    """
    several = mention.name_like or mention.group or mention.label == "GROUP"
    asked = mention.mood == "question" and is_somebody(mention)
    return mention.number == "sg" and not several and not asked


def _last_of_substance(scene: Scene) -> Moment | None:
    """The newest message that names anything: "go ahead" does not."""
    return next((m for m in reversed(scene.discourse.moments) if m.mentions), None)


def _is_deed(scene: Scene, i: int, choice: Choice, moment: Moment) -> bool:
    """ "The player should be able to jump": "it's too high"; "Deploy the site": "it's too slow"."""
    alone = i not in scene.analysis.phrase_at  # not "its error messages"
    judging = alone and scene.role_at(i) in {"subj", "none"} and judged(scene.analysis, i)
    if is_of_deed(moment.analysis):
        ordered = scene.analysis.clauses[scene.analysis.clause_of(i)].mood == "imperative"
        named = any(m.same_thing(choice.mention) for m in moment.mentions)
        return not (ordered and named and _is_established(scene, choice.mention))
    done = choice.mention.mood == "imperative" and choice.mention.verb not in _CREATING
    return judging and done and not _is_established(scene, choice.mention)


def _is_established(scene: Scene, mention: Mention) -> bool:
    """Brought up as a thing before, by "add a map"; asked about, or said to be something."""
    return any(
        known.same_thing(mention) and (known.brought_up or known.topic or known.verb in _CREATING)
        for known in scene.discourse.mentions()
    )


def _is_passed(scene: Scene, i: int, choice: Choice) -> bool:
    """Another thing was brought up after it, and nothing but salience says that it is meant."""
    chosen = choice.mention
    said = [m for moment in scene.discourse.moments for m in moment.mentions]
    named = max((m.turn for m in said if m.same_thing(chosen)), default=chosen.turn)
    newer = [m for m in said if m.turn > named and _competes(m, chosen)]
    need = scene.need_at(i, base=AntecedentNeed())
    return bool(newer) and not scene.knowledge.prefers(need.verb, need.complement, chosen)


def _competes(mention: Mention, chosen: Mention) -> bool:
    """New and as many; what one is told to use is the means."""
    return mention.brought_up and mention.number == chosen.number and mention.verb != "use"
