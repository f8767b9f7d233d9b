"""When a reference is left as typed: vetoes against an antecedent, and what then stays open.

A wrong rewrite is worse than none. Salience says what comes to mind; it does not see that the
message before put a value right, or brought up something newer. What is left unresolved is named:
a language model may be asked then, and only then (`rewriting`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kds.brain.turn import Edit
from kds.router.discourse.history import Moment
from kds.router.discourse.mention import Mention, is_somebody, is_time
from kds.router.discourse.mentions import judged
from kds.router.english import table, words
from kds.router.language import closed_class as cc
from kds.router.language.analysis import ANALYSED_CHARS
from kds.router.language.lexicon import readings
from kds.router.references.enumerations import stands_for_one_of_two
from kds.router.references.rule import AntecedentNeed, Rule
from kds.router.references.scene import Choice, Found, Scene, covered

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


def reservation(scene: Scene, i: int, choice: Choice, *, plural: bool) -> str:
    """Why the word at ``i`` is rather left than taken for the choice; "" when nothing speaks
    against it.
    """
    mood = scene.analysis.clauses[scene.analysis.clause_of(i)].mood
    if _is_glued(scene, i):
        return "another word is written onto it"
    if against := _of_number(scene, i, choice, plural=plural and mood != "question"):
        return against
    moment = _last_of_substance(scene)
    if moment is None or scene.words[i].lower not in _SINGULAR:
        return ""
    if scene.need_at(i, base=AntecedentNeed()).verb in _HAPPENING:
        return "an event is not a thing"
    if mood == "question" and i and scene.words[i - 1].lower == "do":
        return "an action is not a thing"
    if _PUTTING_RIGHT.search(moment.analysis.text) and not choice.mention.is_name:
        return "the message before puts a value right"
    return "" if mood == "question" else _of_substance(scene, i, choice, moment)


def borrows_pronoun(text: str, message: str) -> bool:
    """Whether ``text`` has a pronoun of the message before, which nobody wrote out: "do it at 4am"
    says no more than what leans on it.
    """
    said = {word.lower() for word in _PLAIN.findall(message)}
    return any(word not in said for word in map(str.lower, _PLAIN.findall(_DUMMY.sub("", text))))


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
    alone = i not in scene.analysis.phrase_at  # not "its error messages"
    judging = alone and scene.role_at(i) in {"subj", "none"} and judged(scene.analysis, i)
    if judging and not _is_established(scene, choice.mention):
        return "what was done may be meant"
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


ELLIPTIC_WORDS: Final = 9
"""A longer message without a verb is a title, a pasted line or a list, and stands alone."""

_SPAN = tuple[int, int]
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
    written = {word for edit in edits for word in text[edit.start : edit.end].split()}
    left = [one.left for one in found if one.left and one.left not in written]
    spans = [span for span in _pointing(scene, tuple(rules)) if not _touched(span, edits)]
    words = [text[start:end] for start, end in dict.fromkeys(spans)]
    if not (left or words or edits) and _leans(scene):
        words = [text.strip()]
    return tuple(dict.fromkeys((*left, *words)))


def _touched(span: _SPAN, edits: Iterable[Edit]) -> bool:
    return any(edit.start < span[1] and span[0] < edit.end for edit in edits)


def _pointing(scene: Scene, rules: Sequence[Rule]) -> Iterator[_SPAN]:
    """Spans of noun phrases and adverbs whose rules say nothing when they abstain."""
    text = scene.analysis.text
    for i, word in enumerate(scene.words):
        if _points(scene, i) and not any(covered(r, text, word.start, word.end) for r in rules):
            yield _from_determiner(scene, i), word.end
    yield from _demonstrated(scene)
    yield from (match.span() for match in _REST.finditer(text))


def _points(scene: Scene, i: int) -> bool:
    """ "one", "both", "either", "there" and, in a question, "that" and "else" without a noun."""
    word, after = scene.words[i], scene.word(i + 1)
    before = scene.words[i - 1] if i else None
    if word.lower in {"one", "ones"}:
        told = before is not None and before.lower not in _FALSE_ONES
        return told and word.pos == "PRON" and before is not None and before.pos not in {"ADP", ""}
    if word.lower == "either":
        return stands_for_one_of_two(scene, i)
    if word.lower == "both":
        return i not in scene.analysis.phrase_at or scene.lower(i + 1) == "of"
    if word.lower == "there":
        placed = after is None or after.pos not in {"AUX", "VERB"}
        return word.pos == "ADV" and i > 0 and placed
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    if clause.mood != "question" or clause.subordinate:
        return False
    alone = word.pos in {"PRON", "DET"} and word.lower in cc.DEMONSTRATIVES
    behind = (w.pos for w in scene.words[i + 1 :] if w.pos not in {"ADJ", "NUM"})
    named = next(behind, "") in {"NOUN", "PROPN"}
    relative = before is not None and before.pos in _NOMINAL
    return (alone and not named and not relative) or (word.lower == "else" and i > 0)


def _from_determiner(scene: Scene, i: int) -> int:
    """ "the other one" rather than "one"."""
    start = i
    while start > 0 and scene.words[start - 1].pos in {"DET", "ADJ", "NUM"}:
        start -= 1
    return scene.words[start].start


def _demonstrated(scene: Scene) -> Iterator[_SPAN]:
    """ "that file", when nothing was called a file yet."""
    for phrase in scene.analysis.phrases:
        if phrase.determiner not in cc.DEMONSTRATIVES or phrase.end - phrase.start < 2:
            continue
        mention = next((m for m in scene.mentions if m.start == phrase.start), None)
        if mention is None or mention.parts or mention.kind or is_time(mention):
            continue
        if any(earlier.head == mention.head for earlier in scene.discourse.mentions()):
            continue  # it says itself what it means
        yield scene.words[phrase.start].start, scene.words[phrase.end - 1].end


def _leans(scene: Scene) -> bool:
    """True for a question without a verb that goes on with the sentence before it."""
    words = scene.words
    if not words or len(words) > ELLIPTIC_WORDS or words[0].lower not in _ASKING_AGAIN:
        return False
    verbless = all(clause.verb is None for clause in scene.analysis.clauses)
    return verbless and scene.analysis.text.rstrip().endswith("?")
