"""Noun phrases that point back: "that file", "the button", "another one"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kds.router.discourse.mentions import Mention, is_time
from kds.router.discourse.salience import Candidate
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import plural, singular
from kds.router.language.words import Phrase, Word
from kds.router.references.rendering import bare, definite
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Found, Scene, choose, covered, is_new, written

_SHAPED: Final = re.compile(r"(?:^|\s)[-@.]|[/_`]|\w\.\w")
ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
"""Places in a list; the last is told from its end."""

_EACH_OR_A: Final = frozenset({"each", "every", "no", "a", "an"})
_OF_SEVERAL: Final = {
    *ORDINALS,
    *"middle left right top bottom upper lower other next previous following".split(),
}
_INDEFINITE: Final = frozenset({"a", "an", "any", "another", "no", ""})
"""Determiners of what there may be one more of: "does it have an icon?", "add one"."""


def find_nouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Phrases with a determiner of the rule that repeat a head or name a type."""
    match = rule.antecedent.match
    for mention in scene.mentions:
        phrase = scene.analysis.phrase_of(mention.start, mention.end)
        if phrase is None or _is_out_of_reach(scene, rule, phrase, mention):
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
        pool = scene.candidates(need, rule.antecedent, fits)
        called = _called_so(pool, mention, pointed=phrase.determiner in cc.DEMONSTRATIVES)
        choice = choose(scene, called or pool, rule.antecedent, fits)
        if choice is None:
            continue
        target, (start, end) = definite(choice.mention), scene.chars(phrase.start, phrase.end)
        if phrase.determiner == "the" and mention.number == "pl" and target == choice.mention.text:
            target = f"the {target}"  # of what only a question was about
        if choice.mention.head != mention.head and bare(choice.mention) in scene.used:
            continue  # "Move it to the page" behind "Add a map view": the page is not "it"
        sole = scene.is_sole(phrase.head, choice)
        known = (one for one in scene.discourse.mentions() if one.head == mention.head)
        if choice.mention.modifiers and any(map(_is_plain, known)):
            continue  # "the webhooks" of "Implement webhooks", "log the failed webhooks": all
        alone = choice.margin == 1.0 and scene.is_alone(choice)
        pointed = sole and phrase.determiner in cc.DEMONSTRATIVES and is_new(scene, choice.mention)
        same = target.lower() == scene.analysis.text[start:end].lower()
        if not same and (pointed or _says_more(choice.mention, mention)):
            yield written(scene, rule, (start, end), target, choice=choice, sole=sole or alone)


def _called_so(pool: Sequence[Candidate], mention: Mention, *, pointed: bool) -> list[Candidate]:
    """Those that have its name; none where "that file" has a path that was named later."""
    called = [one for one in pool if one.mention.head == mention.head]
    newest = max((one.mention.turn for one in pool), default=0)
    passed = pointed and all(one.mention.turn < newest for one in called)
    return [] if passed else called


def _is_plain(mention: Mention) -> bool:
    """Whether it was brought up without a word that tells it from others of its kind."""
    return not (
        mention.modifiers or mention.name or mention.determiner in cc.DEMONSTRATIVES | {"the"}
    )


def _is_out_of_reach(scene: Scene, rule: Rule, phrase: Phrase, mention: Mention) -> bool:
    determiners = rule.signal.determiners
    if phrase.determiner not in determiners:
        return True
    owned = any(w.lower in {"'s", "'"} for w in scene.words[phrase.start : phrase.head])
    team = mention.name_like and mention.number == "pl"
    which = "the" in determiners and not phrase.possessor and is_specified(scene, phrase)
    named = owned or team or which or bool(mention.kind or mention.name) or is_time(mention)
    return named or covered(rule, scene.analysis.text, *scene.chars(phrase.start, phrase.end))


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
        clause = scene.lower(i - 1) == "that" and scene.pos(i + 1) in {"NOUN", "PROPN"}
        if clause or covered(rule, scene.analysis.text, word.start, word.end):
            continue  # "that one user has two"
        start = i
        while scene.pos(start) != "DET" and (
            scene.pos(start - 1) in {"DET", "ADJ", "NUM", "NOUN", "PROPN"}
            or scene.lower(start - 1) == "'s"
        ):
            start -= 1
        if found := _enumerated(scene, rule, start, i) or _head_for_one(scene, rule, start, i):
            yield found


def _enumerated(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    """ "the second one", "the red one" of things that were listed."""
    modifiers = [w.lower for w in scene.words[start:i] if w.pos != "DET"]
    for mention in scene.discourse.mentions() if len(modifiers) == 1 else ():
        parts, index = mention.parts, ORDINALS.get(modifiers[0])
        if index is None:
            fitting = [part for part in parts if modifiers[0] in part.modifiers]
        else:
            fitting = [parts[index]] if -len(parts) <= index < len(parts) else []
        if len(fitting) == 1:
            span = scene.chars(start, i + 1)
            return written(scene, rule, span, definite(fitting[0]), bare(fitting[0]), sole=True)
    return None


def _head_for_one(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    before, several = scene.words[start:i], scene.lower(i) == "ones"
    said = [w.lower for w in before]
    asked = any(m.determiner == "which" and m.end <= start for m in scene.mentions)
    if said == ["the", "other"] or (said == ["the"] and asked):
        return None  # of one thing there is no other; "which account is it, the one at the bank?"
    if several and any(m.number == "pl" and m.end <= start for m in scene.mentions):
        return None  # "parses dates and returns None for invalid ones"
    if scene.lower(start - 1) in {"not", "of", "than"} and any(
        m.end < start for m in scene.mentions
    ):
        return None  # "a sliding window, not a fixed one"
    base = rule.antecedent.model_copy(update={"number": "pl" if several else "any"})
    others = {m.head for m in scene.mentions}
    counted = said[:1] == ["the"] and any(w in _OF_SEVERAL for w in said)
    clause = scene.clause(i).start
    own = (m for m in scene.mentions if m.end <= start and m.determiner in _EACH_OR_A)
    if any(m.determiner in {"each", "every", "no"} or m.end <= clause for m in own):
        return None  # "validate each step before the next one opens"
    pool = scene.candidates(
        scene.need_at(i, base),
        base,
        lambda m: (
            not (m.parts or m.kind or is_time(m) or m.head in others or m.head.endswith("ing"))
            and (m.number == "pl" or not counted)
            and (
                any(not w[:1].isdigit() for w in said)
                or m.number == "pl"
                or m.determiner in _INDEFINITE
            )
        ),
    )
    called = {w.lower for w in before if w.pos != "DET" and w.lower not in cc.ORDINALS}
    same = [c for c in pool if called and called <= set(c.mention.modifiers)]
    choice = choose(scene, same or pool, base)  # "the full-time ones"
    if choice is None or _SHAPED.search(choice.mention.text):
        return None  # "a --json flag ... and one for csv": not that flag
    text = _one_text(before, several, choice.mention)
    span, name = scene.chars(start, i + 1), bare(choice.mention)
    asked = not said and len(pool) == 1 and choice.age == 0  # "does it have an icon?", "add one"
    sole = asked and scene.is_sole(i, choice)
    return written(scene, rule, span, text, name, score=choice.score, sole=sole)


def _one_text(before: Sequence[Word], several: bool, antecedent: Mention) -> str:
    """The phrase that ends in one or ones, with the antecedent's noun in its place."""
    determiner = before[0].lower if before and before[0].pos == "DET" else ""
    modifiers = [w.text for w in before if w.pos != "DET"]
    antecedent = replace(antecedent, text=bare(antecedent))  # "two variants": the second variant
    if determiner in {"this", "that"} and not modifiers:
        return definite(antecedent)
    whole = determiner == "another" or all(m.lower() in cc.ORDINALS for m in modifiers)
    noun = antecedent.text if whole else antecedent.compound
    if several != (antecedent.number == "pl"):
        head = antecedent.head_text
        noun = noun[: len(noun) - len(head)] + (plural(head) if several else singular(head))
    modifiers = [m for m in modifiers if m.lower() not in noun.lower().split()]
    spelled_out = noun.split()[0].isupper()
    vowel = noun[:1].lower() in ("aefhilmnorsx" if spelled_out else "aeio")
    lead = determiner or ("" if several or modifiers else "an" if vowel else "a")
    return " ".join(part for part in (lead, *modifiers, noun) if part).replace(" 's ", "'s ")
