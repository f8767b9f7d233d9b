"""What commands and answers leave out: "Change the color", "Use X, not Y", "yes, do it"."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.history import Moment
from kds.router.discourse.mentions import Mention
from kds.router.discourse.reply import as_command, closing_sentence, prose, without_purpose
from kds.router.discourse.symptoms import CHOICE
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_comparative, readings
from kds.router.language.words import Role
from kds.router.references.caution import borrows_pronoun
from kds.router.references.rendering import bare_text, definite
from kds.router.references.ruleset import Rule
from kds.router.references.scene import (
    Choice,
    Found,
    Scene,
    Span,
    covered,
    cued,
    inserted,
    is_new,
    rewritten,
    search,
    written,
)

if TYPE_CHECKING:
    import regex

_TARGET_PREPOSITIONS: Final = words("function_words", "to_a_target")
_CONTAINING: Final = frozenset({"include", "insert", "put", "place"})
_WIDGET_LABEL: Final = "UI"
_OF_THE: Final = 2
"""Words between a part and its owner."""
_CLAUSAL: Final = frozenset({"VERB", "AUX", "PRON", "SCONJ"})
_ARTICLE: Final = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_UNSAID: Final = frozenset({"later", "sooner", "earlier", "further", "more", "worse"})
"""Comparatives that say when, or of what, and not how the thing is to be."""


def find_implicit(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Phrases that lack an owner, by the kind of the rule: it is what is being worked on."""
    lacks, preposition, role = _LACKING[rule.signal.kind]
    for mention in scene.mentions:
        choice = _owner(scene, rule, mention, role) if lacks(scene, rule, mention) else None
        if choice is None or (
            _takes_any(rule) and not _is_piece(scene, rule, mention, choice.mention)
        ):
            continue
        inside = role == "obj" and mention.verb in _CONTAINING
        preposition = "in" if inside else rule.render.preposition or preposition
        end = _end_of(scene, mention) if rule.signal.kind == "part" else mention.end
        found = inserted(scene, rule, end, choice, preposition)
        constraint = rule.signal.kind == "constraint"
        yield replace(found, focus=_merged(choice.mention, mention)) if constraint else found


def _takes_any(rule: Rule) -> bool:
    """Whether any noun without a label may be such a part, for what is being built alone."""
    return rule.signal.kind == "part" and bool(rule.signal.determiners)


def _is_piece(scene: Scene, rule: Rule, part: Mention, owner: Mention) -> bool:
    """Whether what is being built is asked to get such a part, and not another thing to build."""
    apart = part.head == owner.head or covered(rule, part.text, 0, len(part.text))
    return part.mood == "imperative" and is_new(scene, owner) and not apart


def _end_of(scene: Scene, mention: Mention) -> int:
    """Where a phrase ends with what it is about: "a section about authentication", "a job that
    signs the binaries"; -1 where that cannot be told.
    """
    follows, words = scene.lower(mention.end), scene.words
    if follows == "that":
        rest = [w for w in words[mention.end + 1 :] if w.pos != "PUNCT"]
        plain = bool(rest) and rest[0].pos == "VERB" and rest[-1].end == words[-1].end
        joined = any(w.pos in {"CCONJ", "SCONJ", "PRON", "AUX", "ADV"} for w in rest)
        return len(words) if plain and not joined else -1
    if follows not in {"about", "with", "of", "by"}:
        return mention.end
    behind = scene.analysis.phrase_at.get(mention.end + 1)
    return -1 if behind is None else behind.end


def _owner(scene: Scene, rule: Rule, part: Mention, role: Role) -> Choice | None:
    """What is being worked on: the most salient thing that is not itself such a part.

    Not "the colour" of "the colour of the table"; a relation (``role`` "of") ignores replies.
    """
    nouns, of = rule.signal.nouns, role == "of"
    owners = [m for m in scene.discourse.mentions() if m.role == "of" and not of]

    def among(mention: Mention) -> bool:
        alike = mention.head in nouns or (of and mention.reply)
        owned = any(
            0 <= owner.start - mention.end <= _OF_THE and owner.turn == mention.turn
            for owner in owners
        )
        owned = owned and not mention.brought_up  # "a line chart of weekly signups"
        return not (alike or owned or mention.parts or mention.person)

    piece = _takes_any(rule) and not part.label
    things = scene.discourse.mentions() if piece or rule.signal.kind == "constraint" else ()
    built = [m for m in things if among(m) and is_new(scene, m)]
    need = replace(scene.need_at(part.start, rule.antecedent, role=role), verb="", complement="")
    return scene.chosen(need, rule.antecedent, (lambda m: m in built) if built or piece else among)


def _is_attribute(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "Change the color": no owner, no modifiers, no of-phrase.

    A rule with lemmas wants the phrase behind one of these prepositions instead ("as the
    base image").
    """
    direct = mention.role == "obj" and scene.pos(mention.start - 1) == "VERB"
    stands = mention.prep in rule.signal.lemma if rule.signal.lemma else direct
    known = mention.determiner == "the" and mention.text.lower() in rule.signal.nouns
    if not (stands and known and mention.verb in rule.signal.verbs) or mention.parts:
        return False
    owned = scene.lower(mention.end) in {"of", "for", "in", "on", "from", "that", "which"}
    return not owned and not any(w.lower in {"there", "here"} for w in scene.words)


def _is_part(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "Add a pulse animation"; not "to the header", "below it", "there"."""
    adding = scene.pos(mention.start - 1) == "VERB" and mention.role == "obj"
    determiners = rule.signal.determiners or {"a", "an", "some", ""}
    named = (_takes_any(rule) and not mention.label) or mention.head in rule.signal.nouns
    part = named and mention.determiner in determiners and scene.pos(mention.start) != "NUM"
    joined = mention.parts or mention.grouped
    if not (adding and part and mention.verb in rule.signal.verbs) or joined:
        return False
    placing = _TARGET_PREPOSITIONS | {"there", "here"}
    end = _end_of(scene, mention)
    behind = scene.words[end:]
    return end >= 0 and not any(w.lower in placing or w.pos == "SCONJ" for w in behind)


def _is_constraint(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "Use toggle switch, not button" of things that are new here, and not for something yet:
    "Use Redis for the queue, not files", "Use A* for this".
    """
    used = (m for m in scene.mentions if m.role == "obj" and m.verb in rule.signal.verbs)
    if next(used, None) is not mention or cued(rule, scene.analysis.text) is None:
        return False
    heads = {m.head for m in scene.discourse.mentions() if m.role in {"obj", "subj"} or m.result}
    known = any(m.head in heads for m in scene.mentions if m.start >= mention.start)
    pointing = any(
        word.lower in _TARGET_PREPOSITIONS and follows.lower in cc.DEMONSTRATIVES | cc.PERSONAL
        for word, follows in pairwise(scene.words)
    )
    return not (known or pointing or scene.lower(mention.end) in _TARGET_PREPOSITIONS)


def _is_relation(scene: Scene, rule: Rule, mention: Mention) -> bool:
    """ "What are the main causes?": of what the talk is about; with nothing that points back."""
    first = mention.parts[0] if mention.parts else mention
    heads = {part.head for part in mention.parts or (mention,)}
    bare_singular = first.determiner == "" and mention.number == "sg"
    if mention.grouped or bare_singular or first.determiner not in rule.signal.determiners:
        return False
    clause = scene.clause(mention.start)
    said = {w.lower for w in scene.words[clause.start : clause.end]}
    copula = clause.verb is not None and scene.words[clause.verb].lemma == "be"
    asked = clause.mood == "question" and copula and heads <= rule.signal.nouns
    alone = said.isdisjoint(cc.PERSONAL | cc.POSSESSIVES | cc.DEMONSTRATIVES)
    return asked and alone and _ends_the_question(scene, mention)


def _ends_the_question(scene: Scene, mention: Mention) -> bool:
    """Nothing behind the phrase that could already say of what."""
    words = scene.words
    rest = [w.lower for w in words[mention.end :] if w.pos != "PUNCT"]
    owned = any(w.lower in {"'s", "'"} for w in words[mention.start : mention.end])
    some_of = scene.lower(mention.start - 1) == "of"
    governed = any(w.pos == "ADP" for w in words[: mention.start])
    return rest[:1] in ([], ["on"]) and not owned and (some_of or not governed)


def _merged(feature: Mention, used: Mention) -> Mention | None:
    """The feature in its new form: dark mode + toggle switch -> "dark mode toggle".

    Only a widget gives a feature a form; the feature must be one without a form so far (an
    uncountable such as "dark mode", not "a settings page").
    """
    if used.label != _WIDGET_LABEL or feature.determiner or feature.number == "pl":
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


_Lacking = Callable[[Scene, Rule, Mention], bool]

_LACKING: Final[Mapping[str, tuple[_Lacking, str, Role]]] = {
    "attribute": (_is_attribute, "of", "obj"),
    "part": (_is_part, "to", "obj"),
    "relation": (_is_relation, "of", "of"),
    "constraint": (_is_constraint, "for", "obj"),
}
"""Whether a phrase lacks an owner, the preposition of that, and its role."""


def find_contrasts(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "A toggle instead of a dropdown", "30, not 20": the last command with one for the other;
    where it names neither, the one is for what is being worked on.
    """
    text, match = scene.analysis.text, cued(rule, scene.analysis.text, at_start=True)
    if match is None or not scene.discourse or any(w.pos in _CLAUSAL for w in scene.words):
        return
    (start, end), new = match.span("new"), match["new"].strip()
    opening = next((w for w in scene.words if w.start == start), None)
    governed = opening.lower if opening is not None and opening.pos == "ADP" else ""
    article = re.match(r"(?:an?|the)\s", new, re.IGNORECASE)
    old = re.escape(_ARTICLE.sub("", match["old"].strip(" .!")))
    if not old:
        return
    front = rf"{governed}\s+(?:(?:an?|the)\s+)?" if governed else r"(?P<article>(?:an?|the)\s+)?"
    told = [one for one in scene.discourse.moments[-1 - rule.antecedent.max_age :] if _is_told(one)]
    for moment in reversed(told):
        said = re.search(rf"(?<![\w-]){front}{old}(?![\w-])", moment.expanded, re.IGNORECASE)
        first, stop = said.span() if said is not None else _place(moment, governed)
        if first < 0 or CHOICE.search(moment.expanded):
            continue  # nor a contrast put right again: "40, not 30" behind "30 rows, not 20"
        if said is not None and not governed and said["article"] and not article:
            return  # "checkboxes instead of a dropdown": another form of phrase
        before, behind = moment.expanded[:first].rstrip(), moment.expanded[stop:]
        put = f"{new[:1].lower()}{new[1:]}" if governed or article else new
        made = f"{before} {put}{behind}".strip().rstrip(" .!")
        if not borrows_pronoun(made, text):
            rest = text[match.end("new") :].rstrip(" .!")
            done = next((m.text for m in moment.mentions if m.role == "obj"), bare_text(new))
            yield rewritten(scene, rule, made + rest, done, (start, end))
        return
    quality = (
        opening is not None and opening.pos == "ADJ" and opening.i not in scene.analysis.phrase_at
    )
    if not (governed or quality):
        need = replace(scene.need_at(0, rule.antecedent, role="obj"), mood="imperative")
        known = {m.head for m in scene.mentions}
        choice = scene.chosen(need, rule.antecedent, lambda m: not (m.person or m.head in known))
        if choice is not None:
            at = next(w.i for w in reversed(scene.words) if w.end <= end) + 1
            yield inserted(scene, rule, at, choice, "for")


def _is_told(moment: Moment) -> bool:
    """Whether a message asks for something to be done."""
    wished = any(m.brought_up for m in moment.mentions)
    return wished or any(clause.mood == "imperative" for clause in moment.analysis.clauses)


def _place(moment: Moment, preposition: str) -> Span:
    """The characters of a phrase with a preposition, or the end where there is none; -1 where no
    preposition asks for it.
    """
    words, end = moment.analysis.words, len(moment.expanded.rstrip(" .!"))
    if not preposition:
        return -1, -1
    placed = (m for m in moment.mentions if m.prep == preposition and not m.parts)
    if (one := next(placed, None)) is None:
        return end, end
    if one.grouped:
        return -1, -1
    return words[one.start - 1].start, words[one.end - 1].end


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
    choice = scene.chosen(need, base, lambda m: not m.person and is_new(scene, m))
    if choice is not None and scene.is_alone(choice):
        said = (
            text[start:end].lower()
            if text.isupper()
            else text[start].lower() + text[start + 1 : end]
        )
        made = f"make {definite(choice.mention)} {said}"
        yield written(scene, rule, (start, end), made, choice=choice, sole=True, implicit=True)


ACTION_WORDS: Final = 12
"""A longer offer is a plan: "yes" to it says more than one would write."""

_SCORE: Final = 0.9
"""Shown for answers: the reply says in so many words what is answered."""


def find_agreements(scene: Scene, rule: Rule) -> Iterator[Found]:
    """A message that only takes what the reply's last sentence offers.

    A cue must match the whole message. Its group ``deed`` is replaced by what was offered, which
    otherwise follows the message, behind "and" where the group ``on`` ends it. A ``verb`` must be
    that of the offer, and what matches ``weak`` answers the only question of a reply.
    """
    text, action = scene.analysis.text, _offered(scene.reply, rule)
    match = cued(rule, text) if action else None
    if match is None or match[0].strip() != text.strip() or not _answers(match, action, scene):
        return
    groups = match.groupdict()
    if groups.get("deed"):
        start, end = match.span("deed")
        edit = Edit(start, end, action)
    else:
        start, end, on = 0, len(text.rstrip(" .!,")), groups.get("on")
        joined = f" and {action}" if on else f", {action}"
        if on and action.lower().startswith(f"{on.lower()} "):
            joined = action[len(on) :]  # "go ahead with the release" says it once
        edit = Edit(end, end, joined)
    # the target is the assistant's: it is told, not kept
    said = text[start:end]
    note = f"'{said}' -> '{action}' ({rule.id}, from the end of the reply)"
    yield Found(Reference(said, start, end, "", rule.id, _SCORE), (edit,), note, whole=True)


def _answers(match: "regex.Match[str]", action: str, scene: Scene) -> bool:
    """ "Raise it" repeats the verb of what was offered; a mere "ok" answers the only question."""
    groups = match.groupdict()
    if verb := groups.get("verb"):
        return verb.lower() == action.partition(" ")[0].lower()
    sole = len(re.findall(r"\?+", prose(scene.reply))) == 1
    return not groups.get("weak") or (sole and closing_sentence(scene.reply).endswith("?"))


def _offered(reply: str, rule: Rule) -> str:
    """What the reply's last sentence offers to do; "" when it offers nothing that says enough."""
    closing = closing_sentence(reply) if reply else ""
    found = (search(pattern, closing) for pattern in rule.signal.offers)
    match = next((one for one in found if one is not None), None)
    if match is None:
        return ""
    offered = match.groupdict().get("action") or match[0]
    action = as_command(without_purpose(offered.strip(" .?!,")))
    return action if len(action.split()) <= ACTION_WORDS else ""
