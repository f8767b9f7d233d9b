"""Arguments that commands leave out: "Change the color", "Add an animation", "Use X, not Y"."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from kds.router.discourse.mention import Mention
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_comparative, readings
from kds.router.language.words import Clause
from kds.router.references.rendering import definite
from kds.router.references.ruleset import Rule
from kds.router.references.scene import (
    Choice,
    Found,
    Scene,
    choose,
    covered,
    cued,
    inserted,
    is_new,
    written,
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
        choice = _topic(scene, rule, mention) if _bare_attribute(scene, rule, mention) else None
        if choice is not None:
            yield inserted(scene, rule, mention.end, choice, rule.render.preposition or "of")


def find_parts(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Add a pulse animation": to what is being worked on."""
    for mention in scene.mentions:
        direct = scene.pos(mention.start - 1) == "VERB" and mention.role == "obj"
        part = mention.head in rule.signal.nouns and mention.determiner in {"a", "an", "some", ""}
        joined = mention.parts or mention.grouped
        if not (direct and part and mention.verb in rule.signal.verbs) or joined:
            continue
        choice = None if _has_target(scene, mention.end) else _topic(scene, rule, mention)
        if choice is not None:
            preposition = "in" if mention.verb in _CONTAINING else rule.render.preposition or "to"
            yield inserted(scene, rule, mention.end, choice, preposition)


def find_qualities(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Bigger please", "a bit darker": so is the only thing in play to be made."""
    text, base = scene.analysis.text, rule.antecedent
    match = cued(rule, text, at_start=True)
    if match is None or scene.reply.rstrip(" *_)").endswith("?"):
        return  # it answers the reply
    quality, (start, end) = match["quality"].lower(), match.span("said")
    word = readings(quality)
    adjective = match["degree"] and word.adjective and not (word.noun or word.verb)
    if quality in _UNSAID or not (adjective or is_comparative(quality)):
        return
    need = scene.need_at(0, base, role="obj")
    need = replace(need, verb="make", complement=quality, mood="imperative")
    choice = choose(scene, scene.candidates(need, base, among=lambda m: not m.person), base)
    if choice is not None and scene.is_alone(choice) and is_new(scene, choice.mention):
        made = f"make {definite(choice.mention)} {text[start].lower()}{text[start + 1 : end]}"
        yield written(scene, rule, (start, end), made, choice=choice, sole=True, implicit=True)


def find_relations(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "What are the main causes?": of what the talk is about."""
    for mention in scene.mentions:
        clause = scene.clause(mention.start)
        heads = {part.head for part in mention.parts} or {mention.head}
        determiner = mention.parts[0].determiner if mention.parts else mention.determiner
        if mention.grouped or determiner not in rule.signal.determiners:
            continue
        bare_singular = determiner == "" and mention.number == "sg"
        asked = heads <= rule.signal.nouns and _asks_what_it_is(scene, clause)
        if bare_singular or not asked or not _ends_the_question(scene, mention):
            continue
        need = scene.need_at(mention.start, rule.antecedent, role="of")
        pool = scene.candidates(
            replace(need, verb="", complement=""),
            rule.antecedent,
            among=lambda m, part=mention: _can_own(rule, m, part) and not m.reply,  # type: ignore[misc]
        )
        choice = choose(scene, pool, rule.antecedent)
        if choice is not None:
            yield inserted(scene, rule, mention.end, choice, rule.render.preposition or "of")


def _asks_what_it_is(scene: Scene, clause: Clause) -> bool:
    """ "What are ...", "are there any ...", with nothing that points back by itself."""
    said = [w.lower for w in scene.words[clause.start : clause.end]]
    copula = clause.verb is not None and scene.words[clause.verb].lemma == "be"
    about = clause.verb is None and said[:2] in (["what", "about"], ["how", "about"])
    pronouns = cc.PERSONAL | cc.POSSESSIVES | cc.DEMONSTRATIVES
    return clause.mood == "question" and (copula or about) and pronouns.isdisjoint(said)


def _ends_the_question(scene: Scene, mention: Mention) -> bool:
    """Nothing behind the phrase that could already say of what."""
    words = scene.words
    rest = [w.lower for w in words[mention.end :] if w.pos != "PUNCT"]
    owned = any(w.lower in {"'s", "'"} for w in words[mention.start : mention.end])
    partitive = [w.lower for w in words[max(0, mention.start - 2) : mention.start]]
    some_of = partitive[-1:] == ["of"] and partitive[0] in {"some", "any", "few", "all", "most"}
    governed = any(w.pos == "ADP" and w.lower != "about" for w in words[: mention.start])
    return rest[:1] in ([], ["on"]) and not owned and (some_of or not governed)


def find_constraints(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Use toggle switch, not button" -> "Use toggle switch for dark mode, not button"."""
    text = scene.analysis.text
    used = [m for m in scene.mentions if m.role == "obj" and m.verb in rule.signal.verbs][:1]
    for mention in used if cued(rule, text) is not None else ():
        others = [m for m in scene.mentions if m.start >= mention.end]
        heads = {m.head for m in scene.discourse.mentions()}
        known = any(m.head in heads for m in [mention, *others])
        if known or _is_targeted(scene, mention) or covered(rule, text, 0, len(text)):
            continue
        choice = _topic(scene, rule, mention)
        if choice is not None:
            found = inserted(scene, rule, mention.end, choice, rule.render.preposition or "for")
            yield replace(found, focus=_merged(choice.mention, mention))


def _bare_attribute(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "the color" as object of change/set/...: no owner, no modifiers, no of-phrase.

    A rule with lemmas wants the phrase behind one of these prepositions instead ("as the
    base image").
    """
    direct = mention.role == "obj" and scene.pos(mention.start - 1) == "VERB"
    place = mention.prep in rule.signal.lemma if rule.signal.lemma else direct
    if not place or mention.verb not in rule.signal.verbs or mention.parts:
        return False
    if mention.determiner != "the" or mention.text.lower() not in rule.signal.nouns:
        return False
    placed = any(w.lower in {"there", "here"} for w in scene.words)
    owner = {"of", "for", "in", "on", "from", "that", "which"}
    return not placed and scene.lower(mention.end) not in owner


def _topic(scene: Scene, rule: Rule, part: Mention) -> Choice | None:
    """What is being worked on: the most salient thing that is not itself such a part."""
    need = scene.need_at(part.start, rule.antecedent, role="obj")
    owners = [m for m in scene.discourse.mentions() if m.role == "of"]

    def among(mention: Mention) -> bool:
        """Not "the colour" of "the colour of the table"."""
        of_other = any(
            0 <= owner.start - mention.end <= _OF_THE and owner.turn == mention.turn
            for owner in owners
        )
        return _can_own(rule, mention, part) and not of_other

    pool = scene.candidates(replace(need, verb="", complement=""), rule.antecedent, among=among)
    return choose(scene, pool, rule.antecedent)


def _can_own(rule: Rule, owner: Mention, part: Mention) -> bool:
    alike = owner.head in rule.signal.nouns or owner.head == part.head
    return not (alike or owner.parts or owner.person)


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
    pointing = any(
        word.lower in _TARGET_PREPOSITIONS and follows.lower in cc.DEMONSTRATIVES | cc.PERSONAL
        for word, follows in pairwise(scene.words)
    )
    at_once = scene.pos(used.end) == "ADP" and scene.lower(used.end) in _TARGET_PREPOSITIONS
    return pointing or at_once


def _merged(feature: Mention, used: Mention) -> Mention | None:
    """The feature in its new form: dark mode + toggle switch -> "dark mode toggle".

    Only a widget gives a feature a form; the feature must be one without a form so far (an
    uncountable such as "dark mode", not "a settings page").
    """
    bare_one = feature.determiner == "" and feature.number == "sg"
    if used.label != _WIDGET_LABEL or feature.label == _WIDGET_LABEL or not bare_one:
        return None
    noun = used.canonical or used.text
    text, head = f"{feature.text} {noun}", noun.split()[-1]
    return replace(
        used,
        text=text,
        determiner="the",
        verb="",
        head=head.lower(),
        head_text=head,
        modifiers=tuple(text.lower().split()[:-1]),
        compound=text,
    )
