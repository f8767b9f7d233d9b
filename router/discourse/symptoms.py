"""Reports of symptoms: "the button overlaps the logo", "still blank", "build broken".

And their opposite, good news: "the build is green now", "it doesn't crash any more".

A short message that states what a thing does, asks for nothing and does not say that all is well
reports a fault. What it states of how a thing *is* must name the fault: "the map is grey" does,
"the logo is blue" does not. The words are in `english/symptoms.yaml`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings
from kds.router.language.words import Analysis, Word

MOST_WORDS: Final = 18
"""Longer messages hold more than a symptom; the model of real turns reads them."""

_MOST_PLAIN: Final = 12
"""Words of good news, and of a message whose only sign is that it states what something does."""

_FLIP_REACH: Final = 3
"""A negation belongs to a quality this many words behind it: "does not look right"."""

_FAILING: Final = words("symptoms", "failing")
_HANDLING: Final = words("symptoms", "handling")
_BAD: Final = words("symptoms", "bad")
_UNFIT: Final = words("symptoms", "unfit")
_TROUBLE: Final = words("symptoms", "trouble")
_AMISS: Final = words("symptoms", "amiss")
_LIMITING: Final = words("symptoms", "limiting")
_GOOD: Final = words("symptoms", "good")
_SUCCEEDING: Final = words("symptoms", "succeeding")
_BEING: Final = words("symptoms", "being")
_ASKING: Final = words("symptoms", "asking")
_SERVING: Final = words("symptoms", "serving")
_MEETING: Final = words("symptoms", "meeting")
_CIRCUMSTANCES: Final = words("symptoms", "circumstances")
_OPENERS: Final = cc.INTERJECTIONS | words("symptoms", "openers")

_NOT: Final = frozenset({"n't", "nt", "not", "n’t"})
_DENYING: Final = cc.NEGATIONS | {"no", "nothing", "none", "neither", "cannot"}
_STOPPED: Final = frozenset({"stops", "stopped"})
_ENDED: Final = frozenset({"anymore", "more", "longer", "gone"})
"""With a fault they are good news: "no longer crashes", "the error is gone"."""
_FINITE: Final = (cc.FINITE_AUX | {"'s", "'re", "ca", "wo", "re"}) - {"'ll", "'d"}
_OPTIONAL: Final = frozenset({"can", "'ll", "'d"})
_WHAT: Final = frozenset({"what", "why", "how", "who", "whom"})
_SPEAKERS: Final = frozenset({"i", "we"})
_PLURAL: Final = frozenset({"i", "we", "they", "people"})
_OWN: Final = frozenset({"i", "my", "me"})
_POINTING: Final = frozenset({"this", "that"})
_RELATIVE: Final = frozenset({"that", "which", "who", "to"})
_SINGLE: Final = frozenset({"it", "this", "nothing", "something", "everything"})
_GOING_ON: Final = frozenset({"keeps", "kept", "stops", "stopped"})
_PARTICLES: Final = frozenset({"up", "off", "out", "down", "away"})
_CONTRAST: Final = frozenset({"but", "yet"})
_NOMINAL: Final = frozenset({"NOUN", "PROPN", "PRON"})

Part = Sequence[Word]
"""The words of a clause, without its punctuation and without what opens it."""


def reports_symptom(analysis: Analysis) -> bool:
    """Whether a message does nothing but tell of a fault."""
    said, parts = _statements(analysis)
    bare = len(said) <= _MOST_PLAIN and len(parts) < 3
    plain = bare and not any(word.lower in _GOOD for part in parts for word in part)
    return any(_reports(part, plain=plain) for part in parts)


def reports_success(analysis: Analysis) -> bool:
    """Whether a message does nothing but tell that something is as it should be."""
    said, parts = _statements(analysis)
    balances = [_balance(part, at) for part in parts if (at := _predicate(part)) is not None]
    thanks = all(_predicate(part) or _balance(part, -1) > 0 for part in parts)
    too = any(word.lower == "too" for part in parts for word in part)
    short = len(said) <= _MOST_PLAIN
    return short and thanks and not too and bool(balances) and min(balances) > 0


def _statements(analysis: Analysis) -> tuple[Part, list[Part]]:
    """The words and clauses of a short message that asks for nothing; else none."""
    said = [word for word in analysis.words if word.pos != "SPACE"]
    if not 1 < len(said) <= MOST_WORDS or not {"\n", "?"}.isdisjoint(analysis.text.strip()):
        return (), []
    parts = list(_parts(said))
    if _requests(said) or any(_commands(part) or _asks(part) for part in parts):
        return (), []
    if len(parts) > 1 and parts[0][0].lower == "not":  # "not the unit tests, the integration tests"
        return (), []
    return said, parts


def _requests(said: Part) -> bool:
    """ "Please", "should", "no idea why", "it looks like the build is broken"."""
    if any(word.lower in _ASKING for word in said):
        return True
    return any(
        (before.lemma == "look" and word.lower == "like")
        or (word.lower in _WHAT and not _is_third_person(before))
        for before, word in pairwise(said)
    )


def _parts(said: Part) -> Iterator[Part]:
    part: list[Word] = []
    for word in said:
        if word.lower in _CONTRAST or not any(sign.isalnum() for sign in word.text):
            yield from _opened(part)
            part = []
        else:
            part.append(word)
    yield from _opened(part)


def _opened(part: Part) -> Iterator[Part]:
    """Without "ok so", "ugh now"; "no" stays where it denies what follows."""
    opening = list(takewhile(lambda w: w.lower in _OPENERS or w.pos == "INTJ", part))
    if opening and opening[-1].lower == "no" and len(opening) < len(part):
        opening.pop()
    if len(opening) < len(part):
        yield part[len(opening) :]


def _commands(part: Part) -> bool:
    first, after = part[0], part[1] if len(part) > 1 else None
    if first.lower in {"do", "let"}:
        return True
    if not _leads(part) or _is_named_broken(part):
        return False
    known = readings(first.lower)
    if not (known.noun or known.adjective) or _predicate(part) is None:
        return True
    return after is not None and (after.pos in {"DET", "PRON"} or after.lower == "sure")


def _asks(part: Part) -> bool:
    """Questions without their sign: "is it broken", "isnt there a way"."""
    if part[0].lower in cc.WH - {"when"}:
        return True
    if part[0].lower not in cc.MODALS | cc.FINITE_AUX or len(part) < 2:
        return False
    after = part[2] if part[1].lower in _NOT and len(part) > 2 else part[1]
    return after.pos in {*_NOMINAL, "DET"} or after.lower == "there"


def _leads(part: Part) -> bool:
    """Whether the tagger takes the first word for a command, as it does many a noun."""
    return part[0].pos == "VERB" and part[0].tag in {"VB", ""}


def _reports(part: Part, *, plain: bool) -> bool:
    if part[0].lower in _CIRCUMSTANCES:
        return False
    if part[0].lower in _FINITE and len(part) > 2 and part[1].lower in _NOT:  # "won't start"
        return _balance(part, 0) < 0
    at = _predicate(part)
    if at is None or _is_named_broken(part):
        return _names_fault(part)
    subject = part[:at]
    if len(subject) == 1 and (subject[0].lower in _POINTING or subject[0].pos == "NUM"):
        return False  # of what the assistant did: "that's wrong"
    if subject[0].pos == "ADP" and part[at].lower not in _FINITE:
        return False
    if {subject[0].lower, subject[-1].lower} & _SPEAKERS:
        return False
    return _states_fault(part, at, plain=plain)


def _states_fault(part: Part, at: int, *, plain: bool) -> bool:
    """Of something that is neither of the speakers: what it does, or how it is."""
    balance = _balance(part, at)
    if balance or not plain:
        return balance < 0
    return _is_amiss(part) or _does_unasked(part, at)


def _does_unasked(part: Part, at: int) -> bool:
    """Whether a thing does what one says of it only where it should not: "the page jumps"."""
    said = {word.lower for word in part}
    if said & _OPTIONAL or part[at].lower in _FINITE or part[-1].lower == "now":
        return False
    if part[at].tag in {"VBD", "VBN"} or part[at - 1].lower == "too":
        return False
    neutral = _BEING if said & _OWN else _BEING | _SERVING
    return not _forms(part[at]) & neutral


def _is_amiss(part: Part) -> bool:
    said = [word.lower for word in part]
    line = " ".join(said)
    return not _AMISS.isdisjoint(said) or "every time" in line or "over and over" in line


def _names_fault(part: Part) -> bool:
    """Without a subject or a verb: "still blank", "getting a 500", "deadlocks since the update"."""
    if part[0].tag == "VBG" and _forms(part[0]) & _MEETING - {"have"}:
        return len(part) > 1
    head = list(takewhile(lambda w: w is part[0] or w.lower not in _CIRCUMSTANCES, part))
    when = part[len(head)].lower if len(head) < len(part) else ""
    if when == "if":
        return False
    if _is_named_broken(head) and part[0].pos in {"NOUN", "PROPN", "VERB"}:
        return True
    if part[0].lower == "still":
        return True
    if any(word.lower in _DENYING for word in head):
        return False
    return _is_trouble(head, when)


def _is_named_broken(part: Part) -> bool:
    """ "build broken", "login slow on staging": a noun and its fault, and nothing that has it."""
    if len(part) < 2 or part[1].lower not in _BAD | _UNFIT or part[0].lower in _HANDLING:
        return False
    if not readings(part[0].lower).noun:
        return False
    if _leads(part) and part[1].lower in _PARTICLES:  # "sign off"
        return False
    after = part[2] if len(part) > 2 else None
    if after is None or after.pos in {"ADP", "ADV"}:
        return True
    if after.lower == "when":  # "permission denied when writing"
        return _is_gerund_at(part, 3)
    return after.lower in _CIRCUMSTANCES - {"if"}


def _is_trouble(head: Part, when: str) -> bool:
    """ "white flash every time I scroll", "wrong icon in the tab", "images blurry"."""
    noun = list(takewhile(lambda word: word.pos != "ADP", head))
    if not noun:
        return False
    if len(head) > 2 and _is_status(head[-1]):
        return True
    located = len(noun) < len(head) and head[len(noun)].lower not in {"for", "to", "of"}
    return bool(when or located) and _is_faulty(noun, _balance(head, -1))


def _is_faulty(noun: Part, balance: int) -> bool:
    if balance <= 0 and _is_trouble_word(noun[-1]):
        return True
    return balance < 0 and noun[0].lower in _BAD


def _predicate(part: Part) -> int | None:
    """Where what is said of a subject begins."""
    leads = _leads(part)
    for at in range(1, len(part)):
        lower, after = part[at].lower, part[at + 1] if at + 1 < len(part) else None
        if lower in _CIRCUMSTANCES:
            return None
        if lower in _RELATIVE:
            return None
        if lower in {"do", "have"} and after and after.lower in _NOT:
            return at if part[at - 1].pos in _NOMINAL else None
        finite = lower in _FINITE - {"do", "have"} and not (leads and lower == "'s")
        if finite or _is_finite(part, at, leads=leads):
            return at
    return None


def _is_finite(part: Part, at: int, *, leads: bool) -> bool:
    word, before = part[at], part[at - 1]
    if word.lower in _GOING_ON and _is_gerund_at(part, at + 1):
        return True
    if leads and at > 1:
        return False
    if before.lower == "longer" or (before.pos in {"ADV", "PART"} and before.lower != "to"):
        return at > 1 and _may_be_verb(word) and part[at - 2].pos not in {"ADP", "PART", "AUX"}
    return _follows_subject(part, at, leads=leads)


def _follows_subject(part: Part, at: int, *, leads: bool) -> bool:
    word, before = part[at], part[at - 1]
    joined = before.lower in cc.DEMONSTRATIVES | {"all", "both"}
    if before.pos in {"DET", "ADP", "AUX", "PART"} and not joined:
        return False
    if _is_third_person(word):
        return (word.tag == "VBZ" and not leads) or _has_object(part, at)
    return not leads and _agrees(word, before)


def _may_be_verb(word: Word) -> bool:
    verb = word.pos == "VERB" or readings(word.lower).verb == word.lower or _is_third_person(word)
    return verb and word.pos != "ADP"


def _agrees(word: Word, before: Word) -> bool:
    """ "images look blurry", "the job ran twice"."""
    if word.pos == "VERB" and word.tag in {"VBD", "VBN"}:
        return before.pos in _NOMINAL
    noun = before.pos in {"NOUN", "PROPN"} and before.lower.endswith("s")
    verb = word.pos == "VERB" or (word.pos == "NOUN" and readings(word.lower).verb == word.lower)
    return verb and (noun or before.lower in _PLURAL)


def _is_third_person(word: Word) -> bool:
    """Whether a word has the form of "fails", which is a noun's as well."""
    verb = readings(word.lower).verb
    return word.tag == "VBZ" or (bool(verb) and word.lower.endswith("s") and verb != word.lower)


def _is_gerund_at(part: Part, at: int) -> bool:
    return at < len(part) and _is_gerund(part[at])


def _is_gerund(word: Word) -> bool:
    return word.lower.endswith("ing") and readings(word.lower).verb not in {"", word.lower}


def _has_object(part: Part, at: int) -> bool:
    """ "search returns nothing", "login keeps spinning"; not "search logs for errors"."""
    forms, after = _forms(part[at]), part[at + 1] if at + 1 < len(part) else None
    if part[at - 1].lower in _SINGLE or forms & _FAILING:
        return True
    if after is None or after.lower in _CIRCUMSTANCES:
        return False
    if after.lower in _DENYING | _BAD | _PARTICLES:
        return True
    return after.pos in {"DET", "PRON", "NUM"} or (after.pos == "ADV" and after.lower not in _AMISS)


def _balance(part: Part, start: int) -> int:
    """-1 where a clause tells of a fault, 1 where it says that all is well, else 0.

    ``start`` is where its predicate begins. The last quality counts; a negation turns it around.
    """
    said = {word.lower for word in part}
    limited = bool(said & _LIMITING)
    ended = bool(said & _ENDED) or part[-1].lower in _STOPPED
    found, flip, denied = 0, 0, False
    for at, word in enumerate(part):
        if word.lower in _CIRCUMSTANCES and at > max(start, 0):
            break
        if reach := _denies(part, at):
            flip, denied = reach, True
            continue
        if value := _quality(word, at, start, ended=ended):
            if flip > 0:
                value, denied = -value, False
            elif value < 0 and ended and word.lower != "gone":
                return 1
            elif limited:
                value = -1
            found, flip = value, 0
        flip -= 1
    return -1 if denied and found <= 0 else found


def _denies(part: Part, at: int) -> int:
    """How far a negation reaches: 0 where there is none, -1 in "it stopped early"."""
    if part[at].lower in _STOPPED:
        return _FLIP_REACH if _is_gerund_at(part, at + 1) else -1
    return _FLIP_REACH if part[at].lower in _DENYING else 0


def _quality(word: Word, at: int, start: int, *, ended: bool) -> int:
    forms, said = _forms(word), at >= start
    if word.lower in _GOOD or (said and forms & _SUCCEEDING):
        return 1
    if word.lower in _BAD or (forms & _FAILING and (said or word.pos == "VERB")):
        return -1
    named = at > start >= 0 or (ended and at < start)
    return -1 if named and _is_fault(word) else 0


def _is_fault(word: Word) -> bool:
    return word.lower in _UNFIT or _is_trouble_word(word)


def _is_trouble_word(word: Word) -> bool:
    """ "Timeout", "404", "ValueError"."""
    named = word.lower.endswith(("error", "exception"))
    return named or _is_status(word) or not _forms(word).isdisjoint(_TROUBLE)


def _is_status(word: Word) -> bool:
    """ "404", "500": what a server answers when it fails."""
    return len(word.lower) == 3 and word.lower.isdecimal() and word.lower[0] in "45"


def _forms(word: Word) -> set[str]:
    """A word and all its lemmas: the tagger takes many a verb of a report for a noun."""
    found = readings(word.lower)
    return {word.lower, word.lemma.lower(), found.noun, found.verb, found.adjective} - {""}
