"""Reports of symptoms: "the button overlaps the logo", "still blank", "build broken".

And their opposite, good news: "the build is green now", "it doesn't crash any more".

A short message that states what a thing does, asks for nothing and does not say that all is well
reports a fault. What it states of how a thing *is* must name the fault: "the map is grey" does,
"the logo is blue" does not. The words are in `english/symptoms.yaml`.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, pairwise
from typing import Final

from kds.router.english import table
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings
from kds.router.language.words import Analysis, Word

MOST_WORDS: Final = 18
"""Longer messages hold more than a symptom; the model of real turns reads them."""

MOST_PLAIN: Final = 12
"""Words of good news, and of a message whose only sign is that it states what something does."""

REACH: Final = 3
"""A negation belongs to a quality this many words behind it: "does not look right"."""

_WORDS: Final = table("symptoms")
_FAULTS: Final = _WORDS["bad"] | _WORDS["unfit"] | _WORDS["trouble"]
_DENYING: Final = cc.NEGATIONS | {"no", "nothing", "none", "neither", "cannot", "n't", "nt"}
CHOICE: Final = re.compile(r",\s*not\b|\b(?:instead of|rather than)\b", re.I)
"""Where one thing is set against another: "tabs, not spaces"."""

_WISHING: Final = frozenset({("look", "like"), ("by", "default")})
""" "It looks like the build is broken": and what now; "by default it's off": so it is to be."""
_ENDED: Final = frozenset({"anymore", "more", "longer", "gone"})
"""With a fault they are good news: "no longer crashes", "the error is gone"."""
_STOPPED: Final = frozenset({"stops", "stopped"})
_OPENERS: Final = cc.INTERJECTIONS | _WORDS["openers"]
_AUXILIARIES: Final = cc.FINITE_AUX | cc.BE | {"'s", "'re", "ca", "wo"}
_NOMINAL: Final = frozenset({"NOUN", "PROPN", "PRON", "DET"})

Part = Sequence[Word]
"""The words of a clause, without what opens it."""


def reports_symptom(analysis: Analysis) -> bool:
    """Whether a message does nothing but tell of a fault."""
    parts = _statements(analysis)
    said = [word.lower for part in parts for word in part]
    plain = len(said) <= MOST_PLAIN and len(parts) < 3 and _WORDS["good"].isdisjoint(said)
    return any(_reports(part, plain=plain) for part in parts)


def reports_success(analysis: Analysis) -> bool:
    """Whether a message does nothing but tell that something is as it should be."""
    parts = _statements(analysis)
    short = sum(map(len, parts)) <= MOST_PLAIN and any(map(_predicate, parts))
    too = any(word.lower == "too" for part in parts for word in part)
    return short and not too and all(_balance(part, _predicate(part)) > 0 for part in parts)


def _statements(analysis: Analysis) -> list[Part]:
    """The clauses of a short message that asks for nothing; else none."""
    said = [word for word in analysis.words if word.pos not in {"SPACE", "PUNCT"}]
    if not 1 < len(said) <= MOST_WORDS or not {"\n", "?"}.isdisjoint(analysis.text.strip()):
        return []
    if any(word.lower in _WORDS["asking"] for word in said):
        return []
    if any((one.lemma, two.lower) in _WISHING for one, two in pairwise(said)):
        return []
    if CHOICE.search(analysis.text) and not any(word.pos in {"VERB", "AUX"} for word in said):
        return []  # "tabs, not spaces"
    parts = list(_parts(analysis))
    return [] if any(map(_asks, parts)) else parts


def _parts(analysis: Analysis) -> Iterator[Part]:
    """The clauses between signs and "but", each up to the one that says when."""
    part: list[Word] = []
    for word in (*analysis.words, None):
        if word is not None and word.lower not in {"but", "yet"} and word.text[-1].isalnum():
            part.append(word)
            continue
        found = list(dropwhile(_opens, part))
        if found:
            yield found
        part = []


def _opens(word: Word) -> bool:
    return (word.lower in _OPENERS or word.pos == "INTJ") and word.lower != "no"


def _asks(part: Part) -> bool:
    """Commands and questions: "hide the footer", "what is a deadlock", "isnt there a way"."""
    first, after = part[0], part[1] if len(part) > 1 else None
    if first.lower in (cc.WH - {"when"}) | {"do", "let", "be"}:
        return True
    if first.pos == "ADV" and after is not None and after.pos == "VERB" and after.tag == "VB":
        return True  # "only show the rooms that were visited"
    if first.lower in cc.MODALS | cc.FINITE_AUX:
        behind = part[2] if after and after.lower in _DENYING and len(part) > 2 else after
        return behind is not None and (behind.pos in _NOMINAL or behind.lower == "there")
    known = readings(first.lower)
    if first.pos != "VERB" or (first.tag not in {"VB", ""} and known.verb != first.lower):
        return False
    taken = after is not None and (
        after.pos in {"DET", "PRON", "NUM"} or after.lower in cc.PARTICLES
    )
    noun = (known.noun or known.adjective) and not taken
    said = part[_predicate(part)]
    finite = (
        said.tag in {"VBZ", "VBD", "VBN"} or said.lower in _AUXILIARIES or said.lower.endswith("s")
    )
    return not (noun and ((said is not first and finite) or _is_named_broken(part)))


def _reports(part: Part, *, plain: bool) -> bool:
    at = _predicate(part)
    told = len(part) > 1 and (part[1].tag == "VB" or part[1].lower == "do")
    if part[0].lower in _WORDS["circumstances"] or (part[0].lower == "not" and told):
        return False
    if not at:
        return _names_fault(part)
    verbal = any(word.pos in {"VERB", "AUX"} for word in part)
    opening = part[1] if part[0].pos == "ADJ" else part[0]
    if opening.pos == "ADP" and not verbal:
        return False  # "for 10 minutes", "same for the orders table"
    subject = part[:at]
    said_of = {subject[0].lower, subject[-1].lower}
    if said_of & {"i", "we", "you", "he", "she", "nobody"} or (
        at == 1 and said_of & {"this", "that"}
    ):
        return False  # of what the assistant did: "that's wrong"
    balance = _balance(part, at)
    return balance < 0 or (not balance and plain and _does_unasked(part, at))


def _does_unasked(part: Part, at: int) -> bool:
    """Whether a thing does what one says of it only where it should not: "the page jumps"."""
    said = {word.lower for word in part}
    if not said.isdisjoint(_WORDS["amiss"]):
        return True
    if part[at].lower in _AUXILIARIES or part[at].tag in {"VBD", "VBN"} or part[-1].lower == "now":
        return False
    own = not said.isdisjoint({"i", "my", "me"})
    neutral = _WORDS["being"] if own else _WORDS["being"] | _WORDS["serving"]
    return "can" not in said and not _forms(part[at]) & neutral


def _names_fault(part: Part) -> bool:
    """Without a subject or a verb: "still blank", "getting a 500", "deadlocks since the update"."""
    said = [word.lower for word in part]
    if len(part) > 2 and said[0] in _AUXILIARIES and said[1] in _DENYING:  # "won't start"
        return True
    if part[0].tag == "VBG" and _forms(part[0]) & _WORDS["meeting"]:
        return len(part) > 1
    if said[0] == "still" or _is_named_broken(part):
        return True
    when = next((n for n, word in enumerate(said) if word in _WORDS["circumstances"]), 0)
    noun = next((n for n, word in enumerate(part) if word.pos == "ADP" or n == when > 0), 0)
    if not noun or said[noun] in {"for", "to", "of"} or not _DENYING.isdisjoint(said):
        return False
    return said[0] in _WORDS["bad"] or _is_trouble(part[noun - 1])


def _is_named_broken(part: Part) -> bool:
    """ "build broken", "login slow on staging": a noun and its fault, and nothing that has it."""
    if len(part) < 2 or not readings(part[0].lower).noun:
        return False
    faulty = part[1].lower in _WORDS["bad"] | _WORDS["unfit"]
    return faulty and (len(part) == 2 or part[2].pos in {"ADP", "ADV", "SCONJ"})


def _predicate(part: Part) -> int:
    """Where what is said of a subject begins; 0 where nothing is."""
    for at, (before, word) in enumerate(pairwise(part), 1):
        if word.lower in _WORDS["circumstances"] | cc.WH | {"that", "to"}:
            return 0
        if word.lower in _AUXILIARIES or _is_finite(before, word, part[at + 1 : at + 2]):
            return at
    return 0


def _is_finite(before: Word, word: Word, after: Part) -> bool:
    known = readings(word.lower)
    verb = word.pos == "VERB" or known.verb == word.lower
    if not known.verb or before.pos in {"DET", "ADP", "AUX"}:
        return False
    if known.verb != word.lower and word.lower.endswith("s"):
        taken = any(w.pos in {"DET", "PRON", "NUM"} for w in after)
        behind = before.pos in {"ADV", "PART", "PRON", "NUM"} or before.lower == "longer"
        return word.tag == "VBZ" or behind or taken
    plural = before.lower.endswith("s") and before.pos in {"NOUN", "PROPN"}
    past = word.tag in {"VBD", "VBN"} and before.pos in _NOMINAL
    return past or (verb and (plural or before.pos == "ADV"))


def _balance(part: Part, start: int) -> int:
    """-1 where a clause tells of a fault, 1 where it says that all is well, else 0.

    ``start`` is where its predicate begins. The last quality counts; a negation turns it around.
    """
    said = {word.lower for word in part}
    ended = not said.isdisjoint(_ENDED)
    found, reach, denied = 0, 0, False
    for at, word in enumerate(part):
        if word.lower in _WORDS["circumstances"] and at > start:
            break
        going = at + 1 < len(part) and part[at + 1].lower.endswith("ing")
        if word.lower in _DENYING or (word.lower in _STOPPED and going):
            reach, denied = REACH, True
        elif value := _quality(word, named=at >= start or ended):
            if reach > 0:
                value, denied = -value, False
            elif value < 0 and ended and word.lower != "gone":
                return 1
            elif not said.isdisjoint(_WORDS["limiting"]):
                value = -1
            found, reach = value, 0
        reach -= 1
    return -1 if denied and found <= 0 else found


def _quality(word: Word, *, named: bool) -> int:
    forms = _forms(word)
    if word.lower in _WORDS["good"] or (named and forms & _WORDS["succeeding"]):
        return 1
    if word.lower in _WORDS["bad"] or (named and forms & (_FAULTS | _WORDS["failing"])):
        return -1
    return -1 if named and _is_trouble(word) else 0


def _is_trouble(word: Word) -> bool:
    """ "Timeout", "404", "ValueError"."""
    status = len(word.lower) == 3 and word.lower.isdecimal() and word.lower[0] in "45"
    named = status or word.lower.endswith(("error", "exception"))
    return named or not _WORDS["trouble"].isdisjoint(_forms(word))


def _forms(word: Word) -> set[str]:
    """A word and all its lemmas: the tagger takes many a verb of a report for a noun."""
    found = readings(word.lower)
    return {word.lower, word.lemma.lower(), found.noun, found.verb, found.adjective} - {""}
