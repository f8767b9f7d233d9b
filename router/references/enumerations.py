"""References to two or more things: both, the former and the latter, which."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from kds.router.discourse.inquiry import difference, questions
from kds.router.discourse.mention import Mention, acts, is_time
from kds.router.discourse.question import Question, Span
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, readings
from kds.router.language.words import Word
from kds.router.references.rendering import bare_text, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, covered, replaced, rewritten

_OF_THEM: Final = frozenset("them these those both".split())
_VERBAL: Final = frozenset({"VERB", "AUX"})
_LEADS: Final = frozenset("so and but then ok okay well".split())


def find_both(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Both, either, between them: the two things listed last, or the last two things built."""
    for i, word in enumerate(scene.words):
        said = _of_two(scene, i)
        if not said or covered(rule, scene.analysis.text, word.start, word.end):
            continue
        pair = _pair(scene, rule.antecedent.max_age)
        if pair is None:
            continue
        end = i + 1 + _group_behind(scene, i)
        text = f" {'or' if said == 'either' else 'and'} ".join(definite(part) for part in pair)
        span = (word.start, scene.words[end - 1].end)
        found = replaced(scene, rule, span, f"{word.text.lower()} {text}", bare_text(text))
        sole = said == "both" and scene.is_commanded(i) and len(pair) == 2
        yield replace(found, references=(replace(found.references[0], sole=sole),))


def _of_two(scene: Scene, i: int) -> str:
    """ "both", "either" or "between" where word ``i`` stands for two things; else ""."""
    lower = scene.words[i].lower
    if lower == "both":
        return "" if _quantifies(scene, i) else lower
    if lower == "between":
        return lower if _group(scene.words, i + 1) and not _lists_two(scene, i) else ""
    return lower if lower == "either" and stands_for_one_of_two(scene, i) else ""


def _group_behind(scene: Scene, i: int) -> int:
    """How long "of them" is behind "both", "the two" behind "between", "one" behind "either"."""
    said, follows = scene.lower(i), scene.lower(i + 1)
    if said == "between":
        return _group(scene.words, i + 1)
    if said == "either" and follows == "one":
        return 1
    of_them = _group(scene.words, i + 2) if follows == "of" else 0
    return 1 + of_them if of_them else 0


def _group(words: Sequence[Word], i: int) -> int:
    """Length of "them", "the two" or "the above" at ``i``; 0 in "the two dates"."""
    if i >= len(words):
        return 0
    if words[i].lower in _OF_THEM:
        return 1
    said = [w.lower for w in words[i : i + 2]]
    if said not in (["the", "two"], ["the", "above"]):
        return 0
    naming = {"NOUN", "PROPN"} if said[1] == "above" else {"NOUN", "PROPN", "ADJ", "NUM"}
    named = any(w.pos in naming for w in words[i + 2 : i + 3])
    return 0 if named and not _is_verb(words, i + 2) else 2


def _is_verb(words: Sequence[Word], i: int) -> bool:
    """A verb; also "comes" of "the above comes first", tagged as a noun where no verb is."""
    if words[i].pos in _VERBAL:
        return True
    alone = words[i].pos == "NOUN" and not any(w.pos in _VERBAL for w in words)
    return alone and i + 2 < len(words) and bool(readings(words[i].lemma).verb)


def _lists_two(scene: Scene, i: int) -> bool:
    """ "can the two parents split it between them": the message says itself who they are."""
    return any(
        m.end <= i and (m.parts or (m.role == "subj" and m.number == "pl" and acts(m)))
        for m in scene.mentions
    )


def stands_for_one_of_two(scene: Scene, i: int) -> bool:
    """ "Can either be changed?"; not "either A or B", "either party", "I don't like it either"."""
    before, behind = scene.words[:i], scene.words[i + 1 :]
    if any(w.lower in cc.NEGATIONS | {"n't"} for w in before):
        return False
    if any(w.lower == "or" for w in behind):
        return False
    follows = scene.word(i + 1)
    return (
        follows is None
        or follows.pos in {"AUX", "VERB", "PUNCT", "DET"}
        or _group_behind(scene, i) > 0
    )


def _quantifies(scene: Scene, i: int) -> bool:
    """ "both tests", "both A and B"; not "give both 2 GB", where a number follows, nor "are both
    taxed", where no plural does."""
    follows = scene.word(i + 1)
    phrase = scene.analysis.phrase_at.get(i)
    if phrase is None or (follows is not None and follows.pos == "NUM"):
        return False
    head = scene.words[phrase.head]
    listed = any(w.lower == "and" for w in scene.words[phrase.end : phrase.end + 1])
    one = head.pos == "NOUN" and not is_plural(head.text, scene.analysis.english)
    single = one and phrase.end - phrase.start == 2
    return listed or not single


def find_order(scene: Scene, rule: Rule) -> Iterator[Found]:
    """The former, the latter: first and last of the two things listed last."""
    for i, word in enumerate(scene.words):
        index = {"former": 0, "latter": -1}.get(word.lower)
        followed = i + 1 < len(scene.words) and scene.words[i + 1].pos in {"NOUN", "PROPN"}
        if index is None or i == 0 or scene.words[i - 1].lower != "the" or followed:
            continue
        pair = _pair(scene, rule.antecedent.max_age)
        if pair is not None and not covered(rule, scene.analysis.text, word.start, word.end):
            text = definite(pair[index])
            span = (scene.words[i - 1].start, word.end)
            yield replaced(scene, rule, span, text, bare_text(text))


def find_which(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "So which comes first?" -> "Which comes first, A or B?"."""
    words = scene.words
    start = next(
        (i for i, w in enumerate(words) if w.lower not in _LEADS and w.pos != "PUNCT"), None
    )
    if start is None or words[start].lower != "which" or start + 1 >= len(words):
        return
    follower = words[start + 1]
    chosen = start + 2 if follower.lower in {"one", "of"} else start + 1
    if follower.lower == "of":
        chosen = _behind_of_them(words, start + 2)
    if words[start].pos == "DET" and follower.lower not in {"one", "of"}:
        return
    if chosen >= len(words) or not _is_verb(words, chosen) or _has_alternatives(scene):
        return
    pair = _pair(scene, rule.antecedent.max_age)
    if pair is None or covered(rule, scene.analysis.text, words[start].start, words[chosen].start):
        return
    either = " or ".join(definite(part) for part in pair)
    text = scene.analysis.text
    body = text[words[chosen].start :].rstrip(" ?.!")
    whole = f"Which {body}, {either}?"
    whole = whole if text[:1].isupper() else whole[0].lower() + whole[1:]
    span = (words[start].start, words[start].end)
    yield rewritten(scene, rule, whole, bare_text(either), span)


def _behind_of_them(words: Sequence[Word], at: int) -> int:
    """The verb behind "which of them"; "of the free pins" says what there is to choose from."""
    size = _group(words, at)
    if not size:
        return len(words)
    return next((i for i in range(at + size, len(words)) if _is_verb(words, i)), len(words))


def _has_alternatives(scene: Scene) -> bool:
    return any(w.lower == "or" for w in scene.words)


def _pair(scene: Scene, max_age: int) -> tuple[Mention, Mention] | None:
    """The two things listed together last, else what the last two questions differ in, else the
    last two comparable main things."""
    mains: list[Mention] = []
    for moment in list(reversed(scene.discourse.moments))[: max_age + 1]:
        group = next((m for m in reversed(moment.mentions) if _are_things(m.parts)), None)
        if group is not None:
            return group.parts[0], group.parts[1]
        if max_age and moment is scene.discourse.last and (pair := varied(scene)):
            return pair
        main = _main(moment.mentions)
        if main is not None and not any(main.same_thing(known) for known in mains):
            mains.append(main)
        if len(mains) == 2:
            return (mains[1], mains[0]) if _are_parallel(*mains) else None
    return None


def _are_parallel(one: Mention, other: Mention) -> bool:
    """ "Create a navbar", "Create a footer": the same is done to both, or both are new."""
    same_deed = one.role == other.role != "none" and one.verb == other.verb
    return same_deed or (one.brought_up and other.brought_up)


def varied(scene: Scene) -> tuple[Mention, Mention] | None:
    """What the last two questions differ in, when that is a whole thing in each."""
    newer, older = [*islice(questions(scene.discourse), 2), None, None][:2]
    found = difference(older, newer) if older is not None and newer is not None else None
    if found is None or older is None or newer is None:
        return None
    first, second = _whole(older, found.first), _whole(newer, found.second)
    if first is None or second is None:
        return None
    return first, second


def _whole(question: Question, part: Span) -> Mention | None:
    """The thing that stands there, or the subject when that is more than it."""
    subject = question.subject_mention
    start, stop = question.subject
    if subject is not None and start <= part[0] and part[1] <= stop:
        return replace(
            subject, text=bare_text(question.subject_text), determiner=subject.determiner
        )
    return next((m for m in question.mentions if m.end == part[1] and not m.parts), None)


_DIRECTIONS: Final = cc.PARTICLES | frozenset("forward forwards backward backwards".split())


def _are_things(parts: tuple[Mention, ...]) -> bool:
    """Two of them; "back or forward" and "up and down" list no things."""
    return len(parts) == 2 and all(part.head not in _DIRECTIONS for part in parts)


def _main(mentions: tuple[Mention, ...]) -> Mention | None:
    for role in ("obj", "subj", "none", "pobj"):
        for mention in mentions:
            if (
                mention.role == role
                and not is_time(mention)
                and not mention.parts
                and not mention.subordinate
                and mention.head not in _DIRECTIONS
            ):
                return mention
    return next((m for m in mentions if not is_time(m) and not m.parts), None)
