"""What the assistant's replies add to the talk: things that compete with what the user named.

A reply that only confirms ("Done, the form is in place.") adds nothing. One that mentions a
failing check, a helper or an old component brings up something newer, which "it" may mean.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kds.brain.turn import Utterance
from kds.router.discourse.mention import Mention, agency, is_time
from kds.router.discourse.mentions import mentions_in
from kds.router.discourse.reply import prose
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.words import Analysis, Clause

Read = Callable[[str], Analysis]
"""Analyses a text."""

_TALK: Final = words("nouns", "of_talk")
_LOCATING: Final = words("function_words", "to_a_target") | {"across", "within", "through", "to"}
_FARING_WELL: Final = words("verbs", "faring_well")
_DISMISSING: Final = words("verbs", "dismissing")
_CONTRASTING: Final = words("qualities", "contrasting")
_VALUES: Final = frozenset({"COLOR", "NUMBER", "DAY", "MONTH"})
_NONE: Final = frozenset({"no", "any", "every", "each", "whatever"})
_SELF: Final = frozenset({"it", "this", "that", "they", "i", "we", "i've", "i'll"})
_NAME_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FILE_PARTS: Final = words("nouns", "file_parts")


def newcomers(
    history: Sequence[Utterance], chosen: Mention, read: Read, *, strict: bool = False
) -> Iterator[Mention]:
    """What the replies mention, since the user last named ``chosen``, that is not ``chosen``.

    Where a thing is ("in the header", "to src/app.ts") does not count, nor do the old and the new
    form in answer to "use a toggle, not a dropdown", unless ``strict``.
    """
    asked = next((one.text for one in reversed(history) if one.role == "user"), "").lower()
    for said in reversed(history):
        if said.role == "user":
            if _names(said.text, chosen):
                return
            continue
        for line in prose(said.text).splitlines():
            if line.strip():
                added = _added(read(line.strip()), chosen, strict=strict)
                yield from (one for one in added if strict or not _is_form(one, asked))


def _is_form(mention: Mention, asked: str) -> bool:
    said = mention.text.lower()
    if said not in asked:
        return False  # sooner than by an expression that is compiled for one mention
    named = re.escape(said)
    return (
        re.search(rf"\b(?:use|not|instead of|rather than)\s+(?:an?\s+|the\s+)?{named}\b", asked)
        is not None
    )


def _names(text: str, chosen: Mention) -> bool:
    return any(singular(word) == chosen.head for word in re.findall(r"[\w./-]+", text.lower()))


def _added(analysis: Analysis, chosen: Mention, *, strict: bool) -> Iterator[Mention]:
    for mention in mentions_in(analysis, 0):
        if mention.parts or _is_of_talk(mention) or is_same(mention, chosen, strict=strict):
            continue
        if strict or not _is_aside(analysis, mention, chosen):
            yield mention


def _is_of_talk(mention: Mention) -> bool:
    """ "The change", "any questions", "in place": the deed and the talk, and no thing."""
    plain = not set(mention.modifiers) - {"new", "requested"}
    doing = not (mention.determiner or mention.modifiers) and mention.head_text.endswith("ing")
    greeting = mention.start == 0 and plain and mention.head in cc.INTERJECTIONS  # "Great, ..."
    if mention.determiner in _NONE or is_time(mention) or mention.person or doing or greeting:
        return True
    return (plain and mention.head in _TALK) or mention.label in _VALUES


def is_same(mention: Mention, chosen: Mention, *, strict: bool = False) -> bool:
    """ "The form", "the new login form" and "LoginForm.tsx" for a login form; not the old one."""
    if not _CONTRASTING.isdisjoint(set(mention.modifiers) - set(chosen.modifiers)):
        return False
    names = _name_parts(chosen.text)
    initials = {_initials(mention), _initials(chosen)} - {""}
    if initials & (names | _name_parts(mention.text)):
        return True  # "a floating action button" for a FAB button
    if mention.kind in {"path", "code"} or mention.is_name:
        extra = _name_parts(mention.text) - names - _FILE_PARTS
        return names <= _name_parts(mention.text) and not extra
    if not strict and _name_parts(mention.text) <= names and not chosen.parts:
        return True  # "dark mode" of the dark mode toggle
    heads = {part.head for part in (chosen, *chosen.parts)}
    if mention.head not in heads:
        return False
    extra = set(mention.modifiers) - set(chosen.modifiers) - {"new", "requested"}
    return not extra or (
        not strict and mention.determiner != "another" and _covers(mention, chosen)
    )


def _covers(mention: Mention, chosen: Mention) -> bool:
    return set(chosen.modifiers) <= set(mention.modifiers)


def _initials(mention: Mention) -> str:
    """What would stand for three words and more; "" for fewer."""
    told = (word for word in mention.text.lower().split() if word not in {"new", "requested"})
    initials = "".join(word[0] for word in told)
    return initials if len(initials) > 2 else ""


def _name_parts(text: str) -> set[str]:
    return {singular(part.lower()) for part in _NAME_PART.findall(text)}


def _is_aside(analysis: Analysis, mention: Mention, chosen: Mention) -> bool:
    """Where the thing is, what was left out, who did it, or that all is well.

    Somebody by nature alone: "a type error" and "the old slider" end as one who does things.
    """
    clause = analysis.clauses[analysis.clause_of(mention.start)]
    if mention.negated or agency(mention) == 1.0 or _fares_well(analysis, clause, mention):
        return True
    if mention.kind == "path" and mention.role != "subj":
        return mention.verb not in _DISMISSING
    return mention.prep in _LOCATING and _is_about(analysis, clause, mention, chosen)


def _fares_well(analysis: Analysis, clause: Clause, mention: Mention) -> bool:
    """ "The tests pass", "the build is green"."""
    said = analysis.words[mention.end : clause.end]
    well = any(word.lemma in _FARING_WELL or word.lower in _FARING_WELL for word in said[:5])
    if mention.modifiers and mention.head in _FARING_WELL:
        return True  # "I added the form and the tests pass": taken for a noun
    return mention.role == "subj" and well and not any(w.lower in cc.NEGATIONS for w in said)


def _is_about(analysis: Analysis, clause: Clause, mention: Mention, chosen: Mention) -> bool:
    """The clause is about the thing itself, or about what was done with it."""
    before = analysis.words[clause.start : mention.start]
    if clause.verb is None or any(word.lower in _SELF for word in before):
        others = [m for m in mentions_in(analysis, 0) if clause.start <= m.start < mention.start]
        return all(m.prep in _LOCATING or is_same(m, chosen) or _is_of_talk(m) for m in others)
    return any(
        clause.start <= other.start < mention.start and is_same(other, chosen)
        for other in mentions_in(analysis, 0)
    )
