"""Arguments that commands leave out: "Change the color", "Add an animation", "Use X, not Y"."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.mention import Mention
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_comparative, readings
from kds.router.language.words import Clause
from kds.router.references.rendering import bare, definite, in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import (
    Choice,
    Found,
    Scene,
    choose,
    covered,
    cued,
    explain,
    is_new,
    search,
)

_TARGET_PREPOSITIONS: Final = words("function_words", "to_a_target")
_CONTAINING: Final = frozenset({"include", "insert", "put", "place"})
_WIDGET_LABEL: Final = "UI"
_OF_THE: Final = 2
"""Words between a part and its owner."""
_UNSAID: Final = frozenset({"later", "sooner", "earlier", "further", "more", "worse"})
"""Comparatives that say when, or of what, and not how the thing is to be."""


def find_attributes(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Change the color to blue": the color of what is being worked on."""
    for mention in scene.mentions:
        if not _bare_attribute(scene, rule, mention):
            continue
        choice = _topic(scene, rule, mention)
        if choice is not None:
            yield _insert(scene, rule, mention.end, choice, rule.render.preposition or "of")


def find_parts(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Add a pulse animation": to what is being worked on."""
    for mention in scene.mentions:
        direct = scene.words[mention.start - 1].pos == "VERB" if mention.start else False
        object_of_adding = direct and mention.role == "obj" and mention.verb in rule.signal.verbs
        part = mention.head in rule.signal.nouns and mention.determiner in {"a", "an", "some", ""}
        joined = mention.parts or mention.grouped
        if not object_of_adding or not part or joined or _has_target(scene, mention.end):
            continue
        choice = _topic(scene, rule, mention)
        if choice is not None:
            preposition = "in" if mention.verb in _CONTAINING else rule.render.preposition or "to"
            yield _insert(scene, rule, mention.end, choice, preposition)


def find_qualities(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Bigger please", "a bit darker": so is the only thing in play to be made."""
    match = cued(rule, scene.analysis.text, at_start=True)
    quality = match["quality"].lower() if match is not None else ""
    said_so = is_comparative(quality) or (match and match["degree"] and _is_quality(quality))
    if match is None or not said_so or quality in _UNSAID or _is_asked(scene):
        return
    need = scene.need_at(0, base=rule.antecedent, role="obj")
    need = replace(need, verb="make", complement=quality, mood="imperative")
    pool = scene.candidates(need, rule.antecedent, among=lambda m: not m.person)
    choice = choose(scene, pool, rule.antecedent)
    if choice is None or not scene.is_alone(choice) or not is_new(scene, choice.mention):
        return
    start, end = match.span("said")
    target, said = definite(choice.mention), scene.analysis.text[start:end]
    made = in_place_of(said, f"make {target} {said[0].lower()}{said[1:]}")
    yield Found(
        (Reference("", start, start, bare(choice.mention), rule.id, choice.score, sole=True),),
        (Edit(start, end, made),),
        explain("", choice, rule, target),
    )


def _is_quality(word: str) -> bool:
    """ "compact": an adjective, and neither a noun nor a verb."""
    reading = readings(word)
    return bool(reading.adjective) and not (reading.noun or reading.verb)


def _is_asked(scene: Scene) -> bool:
    """The reply ends in a question, which the message answers."""
    return scene.reply.rstrip(" *_)").endswith("?")


def find_relations(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "What are the main causes?": of what the talk is about."""
    for mention in scene.mentions:
        clause = scene.analysis.clauses[scene.analysis.clause_of(mention.start)]
        asked = _asks_what_it_is(scene, clause) and _all_heads(mention) <= rule.signal.nouns
        determiner = mention.parts[0].determiner if mention.parts else mention.determiner
        if not asked or determiner not in rule.signal.determiners or mention.grouped:
            continue
        bare_singular = determiner == "" and mention.number == "sg"
        if bare_singular or not _ends_the_question(scene, mention):
            continue
        choice = _topic_of_talk(scene, rule, mention)
        if choice is not None:
            yield _insert(scene, rule, mention.end, choice, rule.render.preposition or "of")


def _asks_what_it_is(scene: Scene, clause: Clause) -> bool:
    """ "What are ...", "are there any ...", with nothing that points back by itself."""
    words = scene.words[clause.start : clause.end]
    copula = clause.verb is not None and scene.words[clause.verb].lemma == "be"
    about = clause.verb is None and [w.lower for w in words[:2]] in (
        ["what", "about"],
        ["how", "about"],
    )
    pronouns = cc.PERSONAL | cc.POSSESSIVES | cc.DEMONSTRATIVES
    asked = clause.mood == "question" and (copula or about)
    return asked and not any(w.lower in pronouns for w in words)


def _ends_the_question(scene: Scene, mention: Mention) -> bool:
    """Nothing behind the phrase that could already say of what."""
    words = scene.words
    rest = [w for w in words[mention.end :] if w.pos != "PUNCT"]
    affects = bool(rest) and rest[0].lower == "on"
    owned = any(w.lower in {"'s", "'"} for w in words[mention.start : mention.end])
    partitive = [w.lower for w in words[max(0, mention.start - 2) : mention.start]]
    some_of = partitive[-1:] == ["of"] and partitive[0] in {"some", "any", "few", "all", "most"}
    governed = any(w.pos == "ADP" and w.lower != "about" for w in words[: mention.start])
    governed = governed and not some_of
    return (not rest or affects) and not owned and not governed


def _all_heads(mention: Mention) -> set[str]:
    return {part.head for part in mention.parts} or {mention.head}


def _topic_of_talk(scene: Scene, rule: Rule, mention: Mention) -> Choice | None:
    need = scene.need_at(mention.start, base=rule.antecedent, role="of")
    pool = scene.candidates(
        replace(need, verb="", complement=""),
        rule.antecedent,
        among=lambda m: _can_own(rule, m, mention) and not m.reply,
    )
    return choose(scene, pool, rule.antecedent)


def find_constraints(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Use toggle switch, not button" -> "Use toggle switch for dark mode, not button"."""
    text = scene.analysis.text
    if not any(search(pattern, text) for pattern in rule.signal.cues):
        return
    used = next(
        (m for m in scene.mentions if m.role == "obj" and m.verb in rule.signal.verbs), None
    )
    if used is None or _is_targeted(scene, used) or covered(rule, text, 0, len(text)):
        return
    others = [m for m in scene.mentions if m.start >= used.end]
    if any(_known(scene, other) for other in [used, *others]):
        return
    choice = _topic(scene, rule, used)
    if choice is None:
        return
    found = _insert(scene, rule, used.end, choice, rule.render.preposition or "for")
    yield replace(found, focus=_merged(choice.mention, used))


def _bare_attribute(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "the color" as object of change/set/...: no owner, no modifiers, no of-phrase.

    A rule with lemmas wants the phrase behind one of these prepositions instead ("as the
    base image").
    """
    before = scene.words[mention.start - 1]
    direct = mention.role == "obj" and before.pos == "VERB"
    place = mention.prep in rule.signal.lemma if rule.signal.lemma else direct
    if not place or mention.verb not in rule.signal.verbs or mention.parts:
        return False
    if mention.determiner != "the" or mention.text.lower() not in rule.signal.nouns:
        return False
    follower = scene.lower(mention.end)
    placed = any(w.lower in {"there", "here"} for w in scene.words)
    return not placed and follower not in {"of", "for", "in", "on", "from", "that", "which"}


def _topic(scene: Scene, rule: Rule, mention: Mention) -> Choice | None:
    """What is being worked on: the most salient thing that is not itself such a part."""
    need = scene.need_at(mention.start, base=rule.antecedent, role="obj")
    need = replace(need, verb="", complement="")
    said = scene.discourse.mentions()
    pool = scene.candidates(
        need,
        rule.antecedent,
        among=lambda m: _can_own(rule, m, mention) and not any(_is_of(m, other) for other in said),
    )
    return choose(scene, pool, rule.antecedent)


def _is_of(part: Mention, owner: Mention) -> bool:
    """ "the colour of the table": a part that has its owner beside it."""
    beside = 0 <= owner.start - part.end <= _OF_THE
    return owner.role == "of" and owner.turn == part.turn and beside


def _can_own(rule: Rule, owner: Mention, part: Mention) -> bool:
    return (
        owner.head not in rule.signal.nouns
        and owner.head != part.head
        and not owner.parts
        and not owner.person
    )


def _has_target(scene: Scene, end: int) -> bool:
    """A place or target anywhere behind the object ("to the header", "below it", "there")."""
    return any(
        (w.pos == "ADP" and w.lower in _TARGET_PREPOSITIONS)
        or w.lower in {"there", "here"}
        or w.pos == "SCONJ"
        for w in scene.words[end:]
    )


def _is_targeted(scene: Scene, used: Mention) -> bool:
    """ "Use Redis for the queue, not files", "Use A* for this": what for is said already."""
    words = scene.words
    pointing = any(
        word.lower in _TARGET_PREPOSITIONS and follows.lower in cc.DEMONSTRATIVES | cc.PERSONAL
        for word, follows in pairwise(words)
    )
    return pointing or _targeted_at_once(scene, used.end)


def _targeted_at_once(scene: Scene, end: int) -> bool:
    follower = scene.word(end)
    return follower is not None and follower.pos == "ADP" and follower.lower in _TARGET_PREPOSITIONS


def _known(scene: Scene, mention: Mention) -> bool:
    return any(mention.head == other.head for other in scene.discourse.mentions())


def _insert(scene: Scene, rule: Rule, end: int, choice: Choice, preposition: str) -> Found:
    at = scene.words[end - 1].end
    target = definite(choice.mention)
    sole = scene.is_sole(end - 1, choice)
    return Found(
        (Reference("", at, at, bare(choice.mention), rule.id, choice.score, sole),),
        (Edit(at, at, f" {preposition} {target}"),),
        explain("", choice, rule, target),
    )


def _merged(feature: Mention, used: Mention) -> Mention | None:
    """The feature in its new form: dark mode + toggle switch -> "dark mode toggle".

    Only a widget gives a feature a form; the feature must be one without a form so far (an
    uncountable such as "dark mode", not "a settings page").
    """
    formless = (
        feature.determiner == "" and feature.number == "sg" and feature.label != _WIDGET_LABEL
    )
    if used.label != _WIDGET_LABEL or not formless:
        return None
    noun = used.canonical or used.text
    return replace(
        used,
        text=f"{feature.text} {noun}",
        determiner="the",
        verb="",
        head=noun.split()[-1].lower(),
        head_text=noun.split()[-1],
        modifiers=tuple(f"{feature.text} {noun}".lower().split()[:-1]),
        compound=f"{feature.text} {noun}",
    )
