"""Noun phrases that point back: "that file", "the button", "another one", "the first one"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.mention import Mention, is_time
from kds.router.discourse.salience import Candidate
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.word_forms import plural
from kds.router.language.words import Phrase, Word
from kds.router.references.rendering import bare, definite, in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, choose, covered, explain, is_new, replaced

_SHAPED: Final = re.compile(r"(?:^|\s)[-@.]|[/_`]|\w\.\w")
ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
"""Places in a list; the last is told from its end."""


def find_nouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Phrases with a determiner of the rule that repeat a head or name a type."""
    for mention in scene.mentions:
        phrase = scene.analysis.phrase_of(mention.start, mention.end)
        if phrase is None or mention.parts or _out_of_reach(scene, rule, phrase, mention):
            continue
        need = scene.need_at(phrase.head, base=rule.antecedent, role=phrase.role)
        fits = _matcher(scene, rule, mention)
        pool = scene.candidates(need, rule.antecedent, among=fits)
        choice = choose(scene, _same_head(pool, mention) or pool, rule.antecedent, among=fits)
        if choice is None:
            continue
        target = definite(choice.mention)
        start, end = scene.words[phrase.start].start, scene.words[phrase.end - 1].end
        text = scene.analysis.text[start:end]
        sole = scene.is_sole(phrase.head, choice)
        pointed = sole and phrase.determiner in cc.DEMONSTRATIVES and is_new(scene, choice.mention)
        if target.lower() == text.lower() or not (pointed or _says_more(choice.mention, mention)):
            continue
        reference = Reference(text, start, end, bare(choice.mention), rule.id, choice.score, sole)
        note = explain(text, choice, rule, target)
        yield Found((reference,), (Edit(start, end, in_place_of(text, target)),), note)


def _out_of_reach(scene: Scene, rule: Rule, phrase: Phrase, mention: Mention) -> bool:
    if phrase.determiner not in rule.signal.determiners:
        return True
    words = scene.words
    owned = any(w.lower in {"'s", "'"} for w in words[phrase.start : phrase.head])
    team = mention.name_like and mention.number == "pl"
    if owned or team or is_time(mention) or mention.kind or mention.name:
        return True
    if "the" in rule.signal.determiners and not phrase.possessor and is_specified(scene, phrase):
        return True
    text = scene.analysis.text
    return covered(rule, text, words[phrase.start].start, words[phrase.end - 1].end)


def is_specified(scene: Scene, phrase: Phrase) -> bool:
    """ "the button in the header": says by itself which one."""
    follower = scene.word(phrase.end)
    if follower is None:
        return False
    if follower.lower == "of" or follower.lower in {"that", "which", "called", "named"}:
        return True
    static = follower.lower in {"in", "on", "from", "for", "with"} and phrase.verb is None
    return static or (follower.pos == "PRON" and phrase.end + 1 < len(scene.words))


def _matcher(scene: Scene, rule: Rule, mention: Mention):  # type: ignore[no-untyped-def]  # a predicate
    match = rule.antecedent.match

    def fits(other: Mention) -> bool:
        if other.number != mention.number or other.parts or is_time(other):
            return False
        same_head = other.head == mention.head and set(mention.modifiers) <= set(other.modifiers)
        if match in {"head", "head_or_type"} and same_head:
            return True
        by_type = match in {"type", "head_or_type"} and not mention.modifiers
        return by_type and scene.knowledge.is_a(other, mention.head)

    return fits


def _same_head(pool: list[Candidate], mention: Mention) -> list[Candidate]:
    """What is called the same goes before what is of the same kind."""
    return [candidate for candidate in pool if candidate.mention.head == mention.head]


def _says_more(antecedent: Mention, mention: Mention) -> bool:
    return (
        antecedent.head != mention.head
        or bool(set(antecedent.modifiers) - set(mention.modifiers))
        or (bool(antecedent.name and antecedent.kind == "") and antecedent.text != mention.text)
    )


def find_ones(scene: Scene, rule: Rule) -> Iterator[Found]:
    """One, ones: the head noun is to be found in the discourse."""
    for i, word in enumerate(scene.words):
        if word.lower not in {"one", "ones"} or word.pos != "PRON":
            continue
        if covered(rule, scene.analysis.text, word.start, word.end):
            continue
        start = _one_start(scene, i)
        if start is None:
            continue
        found = _enumerated(scene, rule, start, i) or _head_for_one(scene, rule, start, i)
        if found is not None:
            yield found


def _one_start(scene: Scene, i: int) -> int | None:
    """Where the phrase that ends in "one" begins; None when "one" means a person or a number."""
    start = i
    while start > 0 and (
        scene.words[start - 1].pos in {"DET", "ADJ", "NUM", "NOUN", "PROPN"}
        or scene.words[start - 1].lower == "'s"
    ):
        start -= 1
        if scene.words[start].pos == "DET":
            break
    before = scene.lower(i - 1)
    if before in {"no", "every", "any", "some", "each", "which", "what"}:
        return None
    follows = scene.word(i + 1)
    return None if follows is not None and _counts(before, follows) else start


def _counts(before: str, follows: Word) -> bool:
    """ "one of them", "one day"; "is it normal that one user has two"."""
    clause = before == "that" and follows.pos in {"NOUN", "PROPN"}
    return clause or follows.lower in {"of", "more", "another", "day"}


def _enumerated(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    """ "the second one", "the red one" of things that were listed."""
    modifiers = [w.lower for w in scene.words[start:i] if w.pos != "DET"]
    for mention in scene.discourse.mentions():
        if not mention.parts or scene.discourse.age(mention) > rule.antecedent.max_age:
            continue
        part = _pick(mention.parts, modifiers)
        if part is not None:
            return replaced(scene, rule, _span(scene, start, i), definite(part), bare(part))
    return None


def _pick(parts: tuple[Mention, ...], modifiers: list[str]) -> Mention | None:
    if len(modifiers) != 1:
        return None
    index = ORDINALS.get(modifiers[0])
    if index is not None:
        return parts[index] if -len(parts) <= index < len(parts) else None
    fitting = [part for part in parts if modifiers[0] in part.modifiers]
    return fitting[0] if len(fitting) == 1 else None


def _head_for_one(scene: Scene, rule: Rule, start: int, i: int) -> Found | None:
    if [w.lower for w in scene.words[start:i]] == ["the", "other"]:
        return None  # of one thing there is no other
    the_one = [w.lower for w in scene.words[start:i]] == ["the"]
    if the_one and any(m.determiner == "which" and m.end <= start for m in scene.mentions):
        return None  # "which account is it, the one at the bank?"
    base = rule.antecedent.model_copy(update={"number": "any"})
    need = scene.need_at(i, base=base)
    others = {m.head for m in scene.mentions}
    pool = scene.candidates(need, base, among=lambda m: _countable(m) and m.head not in others)
    choice = choose(scene, _same_modified(pool, scene.words[start:i]), base)
    if choice is None:
        return None
    antecedent = choice.mention
    if _SHAPED.search(antecedent.text):  # "a --json flag ... and one for csv": not that flag
        return None
    text = _one_text(scene.words[start : i + 1], antecedent)
    return replaced(scene, rule, _span(scene, start, i), text, bare(antecedent), choice.score)


def _same_modified(pool: list[Candidate], before: Sequence[Word]) -> list[Candidate]:
    """ "the full-time ones": what was called full-time before, if anything was."""
    said = {w.lower for w in before if w.pos != "DET" and w.lower not in cc.ORDINALS}
    return [c for c in pool if said and said <= set(c.mention.modifiers)] or pool


def _one_text(words: Sequence[Word], antecedent: Mention) -> str:
    """The phrase that ends in one or ones, with the antecedent's noun in its place."""
    *before, one = words
    determiner = before[0].lower if before and before[0].pos == "DET" else ""
    modifiers = [w.text for w in before if w.pos != "DET"]
    antecedent = _without_count(antecedent)
    if determiner in {"this", "that"} and not modifiers:
        return definite(antecedent)
    plural = one.lower == "ones"
    keeps_all = determiner == "another" or all(m.lower() in cc.ORDINALS for m in modifiers)
    noun = antecedent.text if keeps_all else antecedent.compound
    if plural != (antecedent.number == "pl"):
        noun = _in_number(noun, antecedent, several=plural)
    said = noun.lower().split()
    modifiers = [m for m in modifiers if m.lower() not in said]
    lead = determiner or ("" if plural or modifiers else _indefinite(noun))
    return " ".join(part for part in (lead, *modifiers, noun) if part).replace(" 's ", "'s ")


def _without_count(mention: Mention) -> Mention:
    """ "two variants" without its number, "the first part" without its place: the second one is a
    variant, the last one a part.
    """
    first, _, rest = mention.text.partition(" ")
    counted = rest and (first.lower() in cc.NUMBERS | cc.ORDINALS or first.isdigit())
    return replace(mention, text=rest) if counted else mention


def _countable(mention: Mention) -> bool:
    bare_mass = mention.determiner == "" and mention.number == "sg"
    return not bare_mass and not mention.parts and not mention.kind and not is_time(mention)


def _in_number(noun: str, antecedent: Mention, *, several: bool) -> str:
    stem = noun[: len(noun) - len(antecedent.head_text)]
    if several:
        return noun if antecedent.number == "pl" else stem + plural(antecedent.head_text)
    return stem + (
        singular(antecedent.head_text) if antecedent.number == "pl" else antecedent.head_text
    )


def _indefinite(noun: str) -> str:
    spelled_out = noun.split()[0].isupper()
    return "an" if noun[:1].lower() in ("aefhilmnorsx" if spelled_out else "aeio") else "a"


def _span(scene: Scene, first: int, last: int) -> tuple[int, int]:
    return scene.words[first].start, scene.words[last].end
