"""When a reference is left as typed: vetoes against an antecedent, and what then stays open.

A wrong rewrite is worse than none. Salience says what comes to mind; it does not see that the
message before put a value right, or brought up something newer. What is left unresolved is named:
a language model may be asked then, and only then (`rewriting`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kds.router.discourse.history import Moment
from kds.router.discourse.mentions import Mention, is_time, judged
from kds.router.discourse.salience import Need
from kds.router.english import table, words
from kds.router.language import closed_class as cc
from kds.router.language.analysis import ANALYSED_CHARS
from kds.router.language.lexicon import readings
from kds.router.references.nouns import stands_for_one_of_two
from kds.router.references.ruleset import AntecedentNeed, Rule
from kds.router.references.scene import Choice, Found, Scene, Span, covered

_PLAIN: Final = re.compile(r"\b(?:it|they|them|that|this|these|those|one|ones|there)\b", re.I)
_DUMMY: Final = re.compile(
    r"\b(?:(?:is|was|would|will) it \w+ (?:to|that|for)|does it (?:cost|take|matter)|"
    r"(?:is|are|was|were|will|would) there|there (?:is|are|was|were)|"
    r"(?:that|this|these|those|one) (?!and\b|or\b|in\b|on\b|at\b|for\b|so\b|by\b)[a-z]+)\b",
    re.I,
)
_SINGULAR: Final = frozenset({"it", "its", "this", "that"})
_HAPPENING: Final = frozenset({"happen", "occur"})
_BY_PRODUCTS: Final = words("nouns", "by_products")
_USUAL_NOUNS: Final = table("preferences")["noun_first"]
_PUTTING_RIGHT: Final = re.compile(
    r"\b(?:i|we) mean(?:t)?\b|^\W*(?:no|nope|nah|not)\b.*\b(?:not|instead|rather|but)\b", re.I
)
_CREATING: Final = words("verbs", "creating") | {"make"}


def reservation(scene: Scene, i: int, choice: Choice) -> str:
    """Why the word at ``i`` is rather left than taken for the choice; "" for no reason."""
    chosen, mood = choice.mention, scene.clause(i).mood
    if scene.lower(i) in {"this", "that"} and chosen.number == "pl":
        return "it is several, and one is meant"
    # "go ahead" names nothing
    moment = next((m for m in reversed(scene.discourse.moments) if m.mentions), None)
    if moment is None or scene.lower(i) not in _SINGULAR:
        return ""
    need = scene.need_at(i, AntecedentNeed())
    if need.verb in _HAPPENING:
        return "an event is not a thing"
    if mood == "question" and scene.lower(i - 1) == "do":
        return "an action is not a thing"
    if _PUTTING_RIGHT.search(moment.analysis.text) and not chosen.is_name:
        return "the message before puts a value right"
    return "" if mood == "question" else _of_substance(scene, i, need, chosen, moment)


def _of_substance(scene: Scene, i: int, need: Need, chosen: Mention, moment: Moment) -> str:
    if _is_hardly_a_thing(chosen):
        return f"'{chosen.text}' is hardly a thing"
    if _is_by_product(scene, need, chosen):
        return f"'{chosen.text}' was made for something else"
    alone = i not in scene.analysis.phrase_at  # not "its error messages"
    judging = alone and need.role in {"subj", "none"} and judged(scene.analysis, i)
    if judging and not _is_established(scene, chosen):
        return "what was done may be meant"
    if scene.is_destructive and _has_rival(scene, need, chosen, moment):
        return "of two things one would be destroyed"
    return "something newer may be meant" if _is_passed(scene, need, chosen) else ""


def borrows_pronoun(text: str, message: str) -> bool:
    """Whether ``text`` has a pronoun of the message before, which nobody wrote out: "do it at 4am"
    says no more than what leans on it.
    """
    said = {word.lower() for word in _PLAIN.findall(message)}
    return any(word.lower() not in said for word in _PLAIN.findall(_DUMMY.sub("", text)))


def _is_by_product(scene: Scene, need: Need, mention: Mention) -> bool:
    """ "Add a test for the parser": the talk is still about the parser, unless the verb is one for
    tests ("run it")."""
    if mention.head not in _BY_PRODUCTS or mention.verb not in _CREATING:
        return False
    said = scene.discourse.moments[mention.turn].mentions
    made_for = any(m.start >= mention.end and m.prep for m in said)
    return made_for and not scene.knowledge.prefers(need.verb, need.complement, mention)


def _has_rival(scene: Scene, need: Need, mention: Mention, moment: Moment) -> bool:
    """Another thing of the same message, unless the verb goes with the chosen one alone."""
    prefers = scene.knowledge.prefers
    choosy = prefers(need.verb, "", mention)
    return any(
        other.number == mention.number and not is_time(other) and not other.same_thing(mention)
        for other in moment.mentions
        if not choosy or prefers(need.verb, "", other)
    )


def _is_established(scene: Scene, mention: Mention) -> bool:
    """Brought up as a thing before, by "add a map"; asked about, or said to be something."""
    return any(
        known.same_thing(mention) and (known.brought_up or known.topic or known.verb in _CREATING)
        for known in scene.discourse.mentions()
    )


def _is_hardly_a_thing(mention: Mention) -> bool:
    """ "drop" of "drag and drop", "long" of "too long": one word, as often a verb or an adjective,
    that is usually no noun, where nothing is made.
    """
    plain = mention.determiner == "" and not mention.modifiers and mention.head_text.islower()
    if not plain or mention.kind or mention.label or mention.number == "pl":
        return False
    word = readings(mention.head)
    other = bool(word.adjective) or word.verb == mention.head
    return other and mention.verb not in {*_CREATING, "use"} and mention.head not in _USUAL_NOUNS


def _is_passed(scene: Scene, need: Need, chosen: Mention) -> bool:
    """Another thing was brought up after it, and nothing but salience says that it is meant. What
    one is told to use is the means."""
    said = [m for moment in scene.discourse.moments for m in moment.mentions]
    named = max((m.turn for m in said if m.same_thing(chosen)), default=chosen.turn)
    newer = (m for m in said if m.turn > named and m.brought_up and m.number == chosen.number)
    passed = any(m.verb != "use" for m in newer)
    return passed and not scene.knowledge.prefers(need.verb, need.complement, chosen)


ELLIPTIC_WORDS: Final = 9
"""A longer message without a verb is a title, a pasted line or a list, and stands alone."""

_REST: Final = re.compile(
    r"\bthe (?:(?:others|rest|remainder)\b(?! of| api| call)|(?:former|latter)\b(?= *(?:$|[.,?!]))"
    r"|above\b(?= *(?:$|[.,?!]| (?:to|for|in|is|does|also|apply|hold)\b)))",
    re.IGNORECASE,
)
"""What is said of several things, without a noun of its own."""
_FALSE_ONES: Final = frozenset("no every any some each which what".split())
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
    for phrase in scene.analysis.phrases:  # "that file", when nothing was called a file yet
        if phrase.determiner not in cc.DEMONSTRATIVES or phrase.end - phrase.start < 2:
            continue
        known = {one.head for one in scene.discourse.mentions()}
        for mention in (m for m in scene.mentions if m.start == phrase.start):
            named = mention.parts or mention.kind or is_time(mention)
            if not named and mention.head not in known:
                yield scene.chars(phrase.start, phrase.end)
            break
    yield from (match.span() for match in _REST.finditer(text))


def _points(scene: Scene, i: int) -> bool:
    """ "one", "both", "either", "there" and, in a question, "that" and "else" without a noun."""
    word, lower, after = scene.words[i], scene.lower(i), scene.pos(i + 1)
    if lower in {"one", "ones"}:
        told = scene.lower(i - 1) not in _FALSE_ONES and scene.pos(i - 1) not in {"ADP", ""}
        return told and word.pos == "PRON"
    if lower == "either":
        return stands_for_one_of_two(scene, i)
    if lower == "both":
        return i not in scene.analysis.phrase_at or scene.lower(i + 1) == "of"
    if lower == "there":
        return word.pos == "ADV" and i > 0 and after not in {"AUX", "VERB"}
    clause = scene.clause(i)
    if clause.mood != "question" or clause.subordinate:
        return False
    alone = word.pos in {"PRON", "DET"} and lower in cc.DEMONSTRATIVES
    behind = (w.pos for w in scene.words[i + 1 :] if w.pos not in {"ADJ", "NUM"})
    named = next(behind, "") in {"NOUN", "PROPN"}
    return (alone and not named and scene.pos(i - 1) not in _NOMINAL) or (lower == "else" and i > 0)


def _leans(scene: Scene) -> bool:
    """True for a question without a verb that goes on with the sentence before it."""
    words = scene.words
    if not words or len(words) > ELLIPTIC_WORDS or words[0].lower not in _ASKING_AGAIN:
        return False
    verbless = all(clause.verb is None for clause in scene.analysis.clauses)
    return verbless and scene.analysis.text.rstrip().endswith("?")
