"""Noun phrases that point back: "that file", "another one", "both", "the latter", "which"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from kds.router.discourse.mentions import Mention, acts, is_time
from kds.router.discourse.questions import Question, difference, questions
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, plural, readings, singular
from kds.router.language.words import Phrase, Word
from kds.router.references.rendering import bare, bare_text, definite
from kds.router.references.ruleset import Rule
from kds.router.references.scene import (
    Found,
    Scene,
    Span,
    choose,
    covered,
    is_new,
    rewritten,
    written,
)

_SHAPED: Final = re.compile(r"(?:^|\s)[-@.]|[/_`]|\w\.\w")
ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
"""Places in a list; the last is told from its end."""
_OF_THEM: Final = frozenset("them these those both".split())
_VERBAL: Final = frozenset({"VERB", "AUX"})
_NAMING: Final = frozenset({"NOUN", "PROPN"})
_LEADS: Final = frozenset("so and but then ok okay well".split())
_DIRECTIONS: Final = cc.PARTICLES | frozenset("forward forwards backward backwards".split())


def find_nouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Phrases with a determiner of the rule that repeat a head or name a type."""
    match = rule.antecedent.match
    for mention in scene.mentions:
        phrase = scene.analysis.phrase_of(mention.start, mention.end)
        if phrase is None or mention.parts or _is_out_of_reach(scene, rule, phrase, mention):
            continue

        def fits(other: Mention, mention: Mention = mention) -> bool:
            if other.number != mention.number or other.parts or is_time(other):
                return False
            same = other.head == mention.head and set(mention.modifiers) <= set(other.modifiers)
            of_kind = "type" in match and not mention.modifiers
            return (same and "head" in match) or (
                of_kind and scene.knowledge.is_a(other, mention.head)
            )

        need = scene.need_at(phrase.head, rule.antecedent, role=phrase.role)
        pool = scene.candidates(need, rule.antecedent, among=fits)
        called = [one for one in pool if one.mention.head == mention.head]
        choice = choose(scene, called or pool, rule.antecedent, among=fits)
        if choice is None:
            continue
        span, target = scene.chars(phrase.start, phrase.end), definite(choice.mention)
        sole = scene.is_sole(phrase.head, choice)
        pointed = sole and phrase.determiner in cc.DEMONSTRATIVES and is_new(scene, choice.mention)
        same = target.lower() == scene.analysis.text[slice(*span)].lower()
        if not same and (pointed or _says_more(choice.mention, mention)):
            yield written(scene, rule, span, target, choice=choice, sole=sole)


def _is_out_of_reach(scene: Scene, rule: Rule, phrase: Phrase, mention: Mention) -> bool:
    determiners = rule.signal.determiners
    owned = any(w.lower in {"'s", "'"} for w in scene.words[phrase.start : phrase.head])
    team = mention.name_like and mention.number == "pl"
    which = "the" in determiners and not phrase.possessor and is_specified(scene, phrase)
    return (
        phrase.determiner not in determiners
        or owned
        or team
        or which
        or bool(mention.kind or mention.name)
        or is_time(mention)
        or covered(rule, scene.analysis.text, *scene.chars(phrase.start, phrase.end))
    )


def is_specified(scene: Scene, phrase: Phrase) -> bool:
    """ "the button in the header": says by itself which one."""
    follows = scene.lower(phrase.end)
    if follows in {"of", "that", "which", "called", "named"}:
        return True
    static = follows in {"in", "on", "from", "for", "with"} and phrase.verb is None
    return static or (scene.pos(phrase.end) == "PRON" and phrase.end + 1 < len(scene.words))


def _says_more(antecedent: Mention, mention: Mention) -> bool:
    named = bool(antecedent.name) and not antecedent.kind and antecedent.text != mention.text
    more = set(antecedent.modifiers) - set(mention.modifiers)
    return antecedent.head != mention.head or bool(more) or named


def find_ones(scene: Scene, rule: Rule) -> Iterator[Found]:
    """One, ones: the head noun is to be found in the discourse."""
    for i, word in enumerate(scene.words):
        if word.lower not in {"one", "ones"} or word.pos != "PRON":
            continue
        if not covered(rule, scene.analysis.text, word.start, word.end) and _is_thing(scene, i):
            start = i
            while scene.pos(start - 1) in {"DET", "ADJ", "NUM", "NOUN", "PROPN"} or (
                scene.lower(start - 1) == "'s"
            ):
                start -= 1
                if scene.pos(start) == "DET":
                    break
            found = _enumerated(scene, rule, start, i) or _head_for_one(scene, rule, start, i)
            yield from [found] if found is not None else []


def _is_thing(scene: Scene, i: int) -> bool:
    """Not "one of them", "one day", "any one"; nor "that one user has two"."""
    before, follows = scene.lower(i - 1), scene.lower(i + 1)
    clause = before == "that" and scene.pos(i + 1) in {"NOUN", "PROPN"}
    counts = clause or follows in {"of", "more", "another", "day"}
    return not counts and before not in {"no", "every", "any", "some", "each", "which", "what"}


def _enumerated(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    """ "the second one", "the red one" of things that were listed."""
    modifiers = [w.lower for w in scene.words[start:i] if w.pos != "DET"]
    for mention in scene.discourse.mentions() if len(modifiers) == 1 else ():
        if not mention.parts or scene.discourse.age(mention) > rule.antecedent.max_age:
            continue
        fitting = [part for part in mention.parts if modifiers[0] in part.modifiers]
        if (index := ORDINALS.get(modifiers[0])) is not None:
            listed = -len(mention.parts) <= index < len(mention.parts)
            fitting = [mention.parts[index]] if listed else []
        if len(fitting) == 1:
            [part] = fitting
            span = scene.chars(start, i + 1)
            return written(scene, rule, span, definite(part), bare(part))
    return None


def _head_for_one(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    before = scene.words[start:i]
    said = [w.lower for w in before]
    asked = any(m.determiner == "which" and m.end <= start for m in scene.mentions)
    if said == ["the", "other"] or (said == ["the"] and asked):
        return None  # of one thing there is no other; "which account is it, the one at the bank?"
    base = rule.antecedent.model_copy(update={"number": "any"})
    others = {m.head for m in scene.mentions}
    counted = said[:1] == ["the"] and any(w in ORDINALS for w in said)  # one of several
    pool = scene.candidates(
        scene.need_at(i, base),
        base,
        among=lambda m: (
            _is_countable(m) and m.head not in others and (m.number == "pl" or not counted)
        ),
    )
    called = {w.lower for w in before if w.pos != "DET" and w.lower not in cc.ORDINALS}
    same = [c for c in pool if called and called <= set(c.mention.modifiers)]
    choice = choose(scene, same or pool, base)  # "the full-time ones"
    if choice is None or _SHAPED.search(choice.mention.text):
        return None  # "a --json flag ... and one for csv": not that flag
    text = _one_text(before, scene.lower(i) == "ones", choice.mention)
    span, name = scene.chars(start, i + 1), bare(choice.mention)
    return written(scene, rule, span, text, name, score=choice.score)


def _one_text(before: Sequence[Word], several: bool, antecedent: Mention) -> str:
    """The phrase that ends in one or ones, with the antecedent's noun in its place."""
    determiner = before[0].lower if before and before[0].pos == "DET" else ""
    modifiers = [w.text for w in before if w.pos != "DET"]
    first, _, rest = antecedent.text.partition(" ")
    if rest and (first.lower() in cc.NUMBERS | cc.ORDINALS or first.isdigit()):
        antecedent = replace(antecedent, text=rest)  # "two variants": the second variant
    if determiner in {"this", "that"} and not modifiers:
        return definite(antecedent)
    whole = determiner == "another" or all(m.lower() in cc.ORDINALS for m in modifiers)
    noun = antecedent.text if whole else antecedent.compound
    if several != (antecedent.number == "pl"):
        head = antecedent.head_text
        noun = noun[: len(noun) - len(head)] + (plural(head) if several else singular(head))
    modifiers = [m for m in modifiers if m.lower() not in noun.lower().split()]
    lead = determiner or ("" if several or modifiers else _article(noun))
    return " ".join(part for part in (lead, *modifiers, noun) if part).replace(" 's ", "'s ")


def _is_countable(mention: Mention) -> bool:
    bare_mass = mention.determiner == "" and mention.number == "sg"
    return not bare_mass and not mention.parts and not mention.kind and not is_time(mention)


def _article(noun: str) -> str:
    spelled_out = noun.split()[0].isupper()
    return "an" if noun[:1].lower() in ("aefhilmnorsx" if spelled_out else "aeio") else "a"


def find_both(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Both, either, between them: the two things listed last, or the last two things built."""
    for i, word in enumerate(scene.words):
        stands = _OF_TWO.get(word.lower)
        if stands is None or not stands(scene, i):
            continue
        pair = _pair(scene, rule.antecedent.max_age)
        if pair is None or covered(rule, scene.analysis.text, word.start, word.end):
            continue
        either = " or " if word.lower == "either" else " and "
        text = either.join(definite(part) for part in pair)
        span = scene.chars(i, i + 1 + _group_behind(scene, i))
        sole = word.lower == "both" and scene.is_commanded(i)
        said = f"{word.lower} {text}"
        yield written(scene, rule, span, said, bare_text(text), sole=sole)


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
    said = [w.lower for w in words[i : i + 2]]
    if said and said[0] in _OF_THEM:
        return 1
    if said not in (["the", "two"], ["the", "above"]):
        return 0
    naming = _NAMING if said[1] == "above" else _NAMING | {"ADJ", "NUM"}
    named = any(w.pos in naming for w in words[i + 2 : i + 3])
    return 0 if named and not _is_verb(words, i + 2) else 2


def _is_verb(words: Sequence[Word], i: int) -> bool:
    """A verb; also "comes" of "the above comes first", tagged as a noun where no verb is."""
    if words[i].pos in _VERBAL:
        return True
    alone = words[i].pos == "NOUN" and not any(w.pos in _VERBAL for w in words)
    return alone and i + 2 < len(words) and bool(readings(words[i].lemma).verb)


def _is_between_two(scene: Scene, i: int) -> bool:
    """Not "can the two parents split it between them": the message says itself who they are."""
    listed = any(
        m.end <= i and (m.parts or (m.role == "subj" and m.number == "pl" and acts(m)))
        for m in scene.mentions
    )
    return _group(scene.words, i + 1) > 0 and not listed


def stands_for_one_of_two(scene: Scene, i: int) -> bool:
    """ "Can either be changed?"; not "either A or B", "either party", "I don't like it either"."""
    denied = any(w.lower in cc.NEGATIONS | {"n't"} for w in scene.words[:i])
    listed = any(w.lower == "or" for w in scene.words[i + 1 :])
    alone = scene.pos(i + 1) in {"", "AUX", "VERB", "PUNCT", "DET"} or _group_behind(scene, i) > 0
    return alone and not denied and not listed


def _stands_for_two(scene: Scene, i: int) -> bool:
    """Not "both tests", "both A and B"; "give both 2 GB", where a number follows, and "are both
    taxed", where no plural does."""
    phrase = scene.analysis.phrase_at.get(i)
    if phrase is None or scene.pos(i + 1) == "NUM":
        return True
    head = scene.words[phrase.head]
    one = head.pos == "NOUN" and not is_plural(head.text, scene.analysis.english)
    single = one and phrase.end - phrase.start == 2
    return single and scene.lower(phrase.end) != "and"


_OF_TWO: Final = {
    "both": _stands_for_two,
    "either": stands_for_one_of_two,
    "between": _is_between_two,
}


def find_order(scene: Scene, rule: Rule) -> Iterator[Found]:
    """The former, the latter: first and last of the two things listed last."""
    for i, word in enumerate(scene.words):
        index = {"former": 0, "latter": -1}.get(word.lower)
        if index is None or scene.lower(i - 1) != "the" or scene.pos(i + 1) in _NAMING:
            continue
        pair = _pair(scene, rule.antecedent.max_age)
        if pair is not None and not covered(rule, scene.analysis.text, word.start, word.end):
            text = definite(pair[index])
            yield written(scene, rule, scene.chars(i - 1, i + 1), text, bare_text(text))


def find_which(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "So which comes first?" -> "Which comes first, A or B?"."""
    words, text = scene.words, scene.analysis.text
    at = next((i for i, w in enumerate(words) if w.lower not in _LEADS and w.pos != "PUNCT"), 0)
    follows = scene.lower(at + 1)
    verb = at + 2 if follows == "one" else at + 1
    if follows == "of":  # "which of the free pins" says what there is to choose from
        size = _group(words, at + 2)
        ends = (i for i in range(at + 2 + size, len(words)) if _is_verb(words, i))
        verb = next(ends, len(words)) if size else len(words)
    elif follows != "one" and scene.pos(at) == "DET":
        return
    listed = any(w.lower == "or" for w in words)
    if scene.lower(at) != "which" or verb >= len(words) or not _is_verb(words, verb) or listed:
        return
    pair = _pair(scene, rule.antecedent.max_age)
    if pair is None or covered(rule, text, words[at].start, words[verb].start):
        return
    either = " or ".join(definite(part) for part in pair)
    whole = f"which {text[words[verb].start :].rstrip(' ?.!')}, {either}?"
    yield rewritten(scene, rule, whole, bare_text(either), scene.chars(at, at + 1))


def _pair(scene: Scene, max_age: int) -> tuple[Mention, Mention] | None:
    """The two things listed together last, else what the last two questions differ in, else the
    last two comparable main things."""
    mains: list[Mention] = []
    for moment in list(reversed(scene.discourse.moments))[: max_age + 1]:
        for group in reversed(moment.mentions):
            # "back or forward" and "up and down" list no things
            if len(group.parts) == 2 and all(p.head not in _DIRECTIONS for p in group.parts):
                return group.parts[0], group.parts[1]
        if moment is scene.discourse.last and (pair := varied(scene)):
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
    asked = list(islice(questions(scene.discourse), 2))
    found = difference(asked[1], asked[0]) if len(asked) == 2 else None
    if found is None:
        return None
    first, second = _whole(asked[1], found.first), _whole(asked[0], found.second)
    return (first, second) if first is not None and second is not None else None


def _whole(question: Question, part: Span) -> Mention | None:
    """The thing that stands there, or the subject when that is more than it."""
    subject = question.subject_mention
    start, stop = question.subject
    if subject is not None and start <= part[0] and part[1] <= stop:
        return replace(subject, text=bare_text(question.subject_text))
    return next((m for m in question.mentions if m.end == part[1] and not m.parts), None)


def _main(mentions: Sequence[Mention]) -> Mention | None:
    things = [m for m in mentions if not is_time(m) and not m.parts]
    for role in ("obj", "subj", "none", "pobj"):
        for mention in things:
            plain = not mention.subordinate and mention.head not in _DIRECTIONS
            if mention.role == role and plain:
                return mention
    return things[0] if things else None
