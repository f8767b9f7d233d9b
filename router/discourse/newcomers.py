"""What the assistant's replies add to the talk: things that compete with what the user named.

A reply that only confirms ("Done, the form is in place.") adds nothing. One that mentions a
failing check, a helper or an old component brings up something newer, which "it" may mean.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from kds.brain.turn import Utterance
from kds.router.discourse.mentions import Mention, agency, is_time, mentions_in
from kds.router.discourse.reply import prose
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.language.words import Analysis, Clause

Read = Callable[[str], Analysis]
"""Analyses a text."""

_TALK: Final = words("nouns", "of_talk") | cc.INTERJECTIONS
_LOCATING: Final = words("function_words", "to_a_target") | {"across", "within", "through", "to"}
_FARING_WELL: Final = words("verbs", "faring_well")
_DISMISSING: Final = words("verbs", "dismissing")
_CONTRASTING: Final = words("qualities", "contrasting")
_VALUES: Final = frozenset({"COLOR", "NUMBER", "DAY", "MONTH"})
_NONE: Final = frozenset({"no", "any", "every", "each", "whatever"})
_PLAIN: Final = frozenset({"new", "requested"})
_SELF: Final = frozenset({"it", "this", "that", "they", "i", "we", "i've", "i'll"})
_CENTERS: Final = frozenset({"it", "they", "this"})
_FORM: Final = re.compile(r"\b(?:use|not|instead of|rather than) (?:an? |the )?")
_NAME_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FILE_PARTS: Final = words("nouns", "file_parts")


def newcomers(
    history: Sequence[Utterance], chosen: Mention, read: Read, *, strict: bool = False
) -> Iterator[Mention]:
    """What the replies mention, since the user last named ``chosen``, that is not ``chosen``.

    Where a thing is ("in the header", "to src/app.ts") does not count, nor do the old and the new
    form in answer to "use a toggle, not a dropdown", unless ``strict``.
    """
    asked = next((one.text.lower() for one in reversed(history) if one.role == "user"), "")
    forms = [asked[found.end() :] for found in _FORM.finditer(asked)]
    for said in reversed(history):
        if said.role == "user":
            if chosen.head in map(singular, re.findall(r"[\w./-]+", said.text.lower())):
                return
            continue
        for line in filter(None, map(str.strip, prose(said.text).splitlines())):
            analysis = read(line)
            for mention in mentions_in(analysis, 0):
                if mention.parts or _is_of_talk(mention) or _is_same(mention, chosen, strict):
                    continue
                form = re.compile(rf"{re.escape(mention.text.lower())}\b") if forms else None
                known = form is not None and any(map(form.match, forms))
                if strict or not (known or _is_aside(analysis, mention, chosen)):
                    yield mention


def _is_of_talk(mention: Mention) -> bool:
    """ "The change", "any questions", "in place": the deed and the talk, and no thing."""
    doing = not (mention.determiner or mention.modifiers) and mention.head_text.endswith("ing")
    if doing or mention.determiner in _NONE or is_time(mention) or mention.label in _VALUES:
        return True
    return mention.head in _TALK and _PLAIN.issuperset(mention.modifiers)


def _is_same(mention: Mention, chosen: Mention, strict: bool = False) -> bool:
    """ "The form", "the new login form" and "LoginForm.tsx" for a login form; not the old one."""
    if not _CONTRASTING.isdisjoint(set(mention.modifiers) - set(chosen.modifiers)):
        return False
    theirs, names = _name_parts(mention.text), _name_parts(chosen.text)
    if {_initials(mention), _initials(chosen)} & (names | theirs):
        return True  # "a floating action button" for a FAB button
    if mention.kind in {"path", "code", "quote"} or mention.is_name or "`" in mention.text:
        return names <= theirs <= names | _FILE_PARTS
    heads = {part.head for part in (chosen, *chosen.parts)}
    extra = set(mention.modifiers) - set(chosen.modifiers) - _PLAIN
    if mention.head in heads and not extra:
        return True
    if strict or mention.determiner == "another":
        return False
    covered = mention.head in heads and set(chosen.modifiers) <= set(mention.modifiers)
    return covered or theirs <= names  # "dark mode" of the dark mode toggle


def _initials(mention: Mention) -> str:
    """What would stand for three words and more; " " for fewer."""
    initials = "".join(word[0] for word in mention.text.lower().split() if word not in _PLAIN)
    return initials if len(initials) > 2 else " "


def _name_parts(text: str) -> set[str]:
    """The words of a name; of "the new file `src/app.ts`" those of the file."""
    code = re.search(r"`([^`]+)`", text)
    parts = map(str.lower, _NAME_PART.findall(code[1] if code else text))
    return {part if part in _FILE_PARTS else singular(part) for part in parts}


def _is_aside(analysis: Analysis, mention: Mention, chosen: Mention) -> bool:
    """Where the thing is, what was left out, who did it, or that all is well.

    Somebody by nature alone: "a type error" and "the old slider" end as one who does things.
    """
    clause = analysis.clauses[analysis.clause_of(mention.start)]
    said = analysis.words[mention.end : clause.end]
    well = any(word.lemma in _FARING_WELL for word in said[:5])
    if well and mention.role == "subj" and not any(w.lower in cc.NEGATIONS for w in said):
        return True  # "the tests pass", "the build is green"
    if mention.head in _FARING_WELL and mention.modifiers:
        return True  # "I added the form and the tests pass": taken for a noun
    if mention.negated or agency(mention) == 1.0:
        return True
    if mention.kind == "path" and mention.role != "subj":
        return mention.verb not in _DISMISSING
    others = [m for m in mentions_in(analysis, 0) if clause.start <= m.start < mention.start]
    if mention.role != "subj" and mention.determiner not in {"a", "an", "another"}:
        if _goes_on(analysis, clause, chosen):
            return True
        for one, other in pairwise([*others, mention]):
            if other.prep == "with" and _is_same(one, chosen):
                return True  # "a page with sections on cookies and contact"
    # in a clause that is about the thing itself, or about what was done with it
    before = analysis.words[clause.start : mention.start]
    about = any(word.lower in _SELF for word in before) or clause.verb is None
    fits = all if about else any
    return mention.prep in _LOCATING and fits(
        _is_same(other, chosen) or (about and (other.prep in _LOCATING or _is_of_talk(other)))
        for other in others
    )


def _goes_on(analysis: Analysis, clause: Clause, chosen: Mention) -> bool:
    """Whether a clause has the chosen thing as its subject: "It reads its data from the store".

    What is spoken of then stays what is spoken of (B. Grosz, A. Joshi, S. Weinstein, "Centering",
    Computational Linguistics 21, 1995).
    """
    first = analysis.clauses.index(clause)
    while first and analysis.words[analysis.clauses[first].start].pos == "CCONJ":
        first -= 1  # "It is small and has two tests"
    start, end = analysis.clauses[first].start, clause.end
    if any(word.lower in _CENTERS for word in analysis.words[start : start + 2]):
        return True
    mentioned = (m for m in mentions_in(analysis, 0) if start <= m.start < end and m.role == "subj")
    subject = next(mentioned, None)
    return subject is not None and _is_same(subject, chosen)
