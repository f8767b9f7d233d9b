"""What in a message points back although no rule could say to what.

The rules abstain rather than guess. That they did is worth knowing: a language model may be
asked then, and only then (`rewriting`). A message that stands alone has nothing of the kind.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kds.brain.turn import Edit
from kds.router.discourse.mention import is_time
from kds.router.language import closed_class as cc
from kds.router.language.analysis import ANALYSED_CHARS
from kds.router.language.lexicon import readings
from kds.router.language.words import Word
from kds.router.references.enumerations import stands_for_one_of_two
from kds.router.references.rule import Rule, SignalKind
from kds.router.references.scene import Found, Scene, covered, search

ELLIPTIC_WORDS: Final = 9
"""A longer message without a verb is a title, a pasted line or a list, and stands alone."""

_LEANING: Final[frozenset[SignalKind]] = frozenset({"question", "correction", "repeat"})
_FALSE_ONES: Final = frozenset("no every any some each which what".split())
_ASKING_AGAIN: Final = frozenset({*cc.WH, "and", "or", "but", "so", "same", "any"})
_REST: Final = frozenset("others rest remainder".split())
_SPAN = tuple[int, int]


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
    if not (left or words or edits) and _leans(scene, rules):
        words = [text.strip()]
    return tuple(dict.fromkeys((*left, *words)))


def _touched(span: _SPAN, edits: Iterable[Edit]) -> bool:
    return any(edit.start < span[1] and span[0] < edit.end for edit in edits)


def _pointing(scene: Scene, rules: Sequence[Rule]) -> Iterator[_SPAN]:
    """Spans of noun phrases and adverbs whose rules say nothing when they abstain."""
    demonstratives: set[str] = set()
    for rule in rules:
        kind = rule.signal.kind
        if kind == "noun":
            demonstratives |= rule.signal.determiners & cc.DEMONSTRATIVES
        elif kind in _WORDS:
            for i, word in enumerate(scene.words):
                if _WORDS[kind](scene, i, word) and not covered(
                    rule, scene.analysis.text, word.start, word.end
                ):
                    yield _from_determiner(scene, i)
    yield from _demonstrated(scene, demonstratives)
    yield from _remainders(scene)
    yield from _asked_of_what_was_said(scene)


def _asked_of_what_was_said(scene: Scene) -> Iterator[_SPAN]:
    """ "Was that successful?", "Who else joined?": too vague for a rule, and yet of no use alone.

    In a question only: "that's great" and "nothing else" ask for nothing.
    """
    for i, word in enumerate(scene.words):
        clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
        if clause.mood != "question" or clause.subordinate:
            continue
        alone = word.pos in {"PRON", "DET"} and word.lower in cc.DEMONSTRATIVES
        if (alone and not _opens_phrase(scene, i)) or (word.lower == "else" and i):
            yield word.start, word.end


def _opens_phrase(scene: Scene, i: int) -> bool:
    """ "what was that red thing", "the scene that added to it"; not "was that successful"."""
    if i and scene.words[i - 1].pos in {"NOUN", "PROPN", "PRON"}:
        return True
    for word in scene.words[i + 1 :]:
        if word.pos not in {"ADJ", "NUM"}:
            return word.pos in {"NOUN", "PROPN"}
    return False


def _is_one(scene: Scene, i: int, word: Word) -> bool:
    if word.lower not in {"one", "ones"} or word.pos != "PRON" or i == 0:
        return False
    before = scene.words[i - 1]
    follows = scene.lower(i + 1)
    return (
        before.pos in {"DET", "ADJ", "NUM", "NOUN", "PROPN"}
        and before.lower not in _FALSE_ONES
        and follows not in {"of", "more", "another", "day"}
    )


def _is_both(scene: Scene, i: int, word: Word) -> bool:
    if word.lower == "either":
        return stands_for_one_of_two(scene, i)
    if word.lower != "both":
        return False
    follows = [w.lower for w in scene.words[i + 1 : i + 3]]
    return i not in scene.analysis.phrase_at or follows[:2] in (["of", "them"], ["of", "those"])


def _is_order(scene: Scene, i: int, word: Word) -> bool:
    if word.lower not in {"former", "latter"} or i == 0 or scene.words[i - 1].lower != "the":
        return False
    return i + 1 == len(scene.words) or scene.words[i + 1].pos not in {"NOUN", "PROPN"}


def _is_place(scene: Scene, i: int, word: Word) -> bool:
    if word.lower != "there" or word.pos != "ADV" or i == 0:
        return False
    follows = scene.word(i + 1)
    return follows is None or follows.pos not in {"AUX", "VERB"}


def _opens_which(scene: Scene, i: int, word: Word) -> bool:
    if word.lower != "which" or i + 1 >= len(scene.words):
        return False
    opens = all(w.lower in _ASKING_AGAIN or w.pos == "PUNCT" for w in scene.words[:i])
    follows = scene.words[i + 1]
    return opens and (follows.pos in {"VERB", "AUX"} or follows.lower in {"one", "ones"})


_WORDS: Final = {
    "one": _is_one,
    "both": _is_both,
    "order": _is_order,
    "place": _is_place,
    "which": _opens_which,
}


def _from_determiner(scene: Scene, i: int) -> _SPAN:
    """ "the other one" rather than "one"."""
    start = i
    while start > 0 and scene.words[start - 1].pos in {"DET", "ADJ", "NUM"}:
        start -= 1
    return scene.words[start].start, scene.words[i].end


def _demonstrated(scene: Scene, determiners: set[str]) -> Iterator[_SPAN]:
    """ "that file", when nothing was called a file yet."""
    for phrase in scene.analysis.phrases:
        if phrase.determiner not in determiners or phrase.end - phrase.start < 2:
            continue
        mention = next((m for m in scene.mentions if m.start == phrase.start), None)
        if mention is None or mention.parts or mention.kind or is_time(mention):
            continue
        if any(earlier.head == mention.head for earlier in scene.discourse.mentions()):
            continue  # it says itself what it means
        yield scene.words[phrase.start].start, scene.words[phrase.end - 1].end


def _remainders(scene: Scene) -> Iterator[_SPAN]:
    """ "the others", "the rest", "the above"; not "the rest of the page", "the above rule"."""
    words = scene.words
    for i, word in enumerate(words):
        if word.lower == "above" and i and words[i - 1].lower == "the":
            after = scene.word(i + 1)
            asked = i > 1 and words[i - 2].pos == "AUX"  # "Does the above apply to ...?"
            named = after is not None and after.pos in {"NOUN", "PROPN", "ADJ"}
            if not named or (asked and after is not None and readings(after.lower).verb):
                yield words[i - 1].start, word.end
        if word.lower in _REST and i and words[i - 1].lower == "the":
            follows = words[i + 1].lower if i + 1 < len(words) else ""
            if follows not in {"of", "api", "call", "endpoint", "client"}:
                yield words[i - 1].start, word.end


def _leans(scene: Scene, rules: Iterable[Rule]) -> bool:
    """True for a message without a verb that goes on with the sentence before it."""
    words, text = scene.words, scene.analysis.text
    if len(words) > ELLIPTIC_WORDS or not any(_says_something(word) for word in words):
        return False
    if any(clause.verb is not None for clause in scene.analysis.clauses):
        return False
    if text.rstrip().endswith("?") and words[0].lower in _ASKING_AGAIN:
        return True
    return any(_cued(text, rule) for rule in rules if rule.signal.kind in _LEANING)


def _says_something(word: Word) -> bool:
    """No "ok", "no, thanks": they answer, and ask for nothing."""
    return word.pos in {"NOUN", "PROPN", "ADJ", "NUM"} or word.lower in cc.WH


def _cued(text: str, rule: Rule) -> bool:
    for pattern in rule.signal.cues:
        match = search(pattern, text)
        if match is not None and match.start() == 0:
            marked = any(mark in match.group() for mark in ",.:;!-—–")
            if rule.signal.kind != "correction" or marked:
                return True
    return False
