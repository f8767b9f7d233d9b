"""Cutting a message where one request ends and the next begins.

Only proposes parts: whether they are requests of different kinds is for the classifier to say.
Cuts stand at the ends of sentences and lines, at ";" and "then", and before "and" or "," when
a verb of command follows and what stands before is a request with an object of its own
("lint and test the parser" has one object, so it stays whole).
"""

import re
from itertools import islice
from typing import Final

from kds.router.english import words
from kds.router.intents.patterns import is_lead_in, without_lead_in
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings

MAX_PARTS: Final = 6
MAX_CHARS: Final = 400
"""A message with more is a list of tasks, a specification or a paste. It has one intent: to score
all its parts took a third of the time of real messages."""

_COMMANDS: Final = words("requests", "commands")
_OBJECT_BEGINS: Final = cc.ARTICLES | cc.POSSESSIVES | {"it", "them", "this", "that", "these"}
_NOUNS_TOO: Final = words("requests", "nouns_too")
_QUESTIONS: Final = words("requests", "questions")
_MENDING: Final = words("requests", "mending")

_COMPLETE_ALONE: Final = frozenset(
    ("continue", "proceed", "commit", "go on", "go ahead", "carry on", "keep going", "resume")
)
"""Requests that need no object, so that "continue and test it" is two."""

_PROTECTED: Final = re.compile(
    r"```.*?```|`[^`]*`|\"[^\"]*\"|\u201c[^\u201d]*\u201d|\([^)]*\)"
    r"|\b(?:difference|relation(?:ship)?|choice|switch(?:ing)?|link|distance|conflict) between\b"
    r".*?(?=[.?!;]|$)"
    r"|\b(?:drag|find|search|copy|cut|plug|point|show|pick|mix|read|trial) and "
    r"(?:drop|replace|paste|play|click|hide|choose|match|write|error)\b"
    r"|\b(?:search|look) for\b[^.;]*?\band replace\b"
    r"|\b(?:both|either)\b[^.?!;,]*?\b(?:and|or)\s+\w+",
    re.DOTALL | re.IGNORECASE,
)
_GAP: Final = r"(?:,|(?<!\s))\s+"
"""White space, with a comma before it or not. Looked for at the beginning of a run only: from
every character of it, a message of 4,000 spaces would take a second."""

_HARD: Final = re.compile(
    r"(?<=[.?!])\s+(?=\S)"
    r"|(?:(?<!\s)\s*)?;\s+"
    r"|(?:(?<!\s)\s*)?\n+\s*(?:[-*\u2022]\s+|\d+[.)]\s+)?"
    rf"|{_GAP}(?:and\s+)?(?:after\s+that|afterwards|then|finally|lastly)\b,?\s+"
    rf"(?!(?:{'|'.join(sorted(_COMMANDS - _NOUNS_TOO))})e?s\b)"
    rf"|{_GAP}and\s+(?:also|next|please)\s+"
    rf"|{_GAP}(?:and\s+)?while\s+(?:you're|you\s+are|we're|we\s+are)\s+at\s+it,?\s+"
    rf"|{_GAP}(?:once|when)\s+(?:that|this|it)(?:'s|\s+is)\s+(?:done|finished|ready),?\s+",
    re.IGNORECASE,
)
_SOFT: Final = re.compile(rf"{_GAP}(?:and|plus)\s+|,\s+(?:also\s+)?", re.IGNORECASE)
_ASKED_OF_YOU: Final = re.compile(r"(?:can|could|would|will) you\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Za-z']+")
_VERB_LAST: Final = re.compile(
    r"\b(?:i|we|you|to|should|can|could|would|must|will|that|and|please)\s+(\w+)$", re.IGNORECASE
)
_OTHERS_ACT: Final = re.compile(
    r"\b(?:(?:want|need|allow|enable|ask|expect) (?!to\b|me\b|us\b|you\b)\w+(?: \w+)?? to"
    r"|(?:let|lets|have) (?!me\b|us\b)\w+) \w+",
    re.IGNORECASE,
)
""" "I want users to upload a picture (and crop it)": one request, whose verbs are others' deeds."""
_TAIL: Final = re.compile(r"^(?:to|so|if|because|which|that|who|where)\b", re.IGNORECASE)
MOST_CUTS: Final = 64
"""Commas and "and"s of a sentence that are looked at: 1,300 of them took 1.4 s, each being measured
against all that is before it."""

_CONDITION: Final = re.compile(
    r"^(?:if|when|once|after|before|while|unless|because|since|as)\b", re.IGNORECASE
)


def split_message(text: str) -> tuple[str, ...]:
    """The requests that a message may hold, in order; the message alone when it is one.

    >>> split_message("I want to add dark mode and test it")
    ('I want to add dark mode', 'test it')
    >>> split_message("What is the difference between lint and test runs?")
    ('What is the difference between lint and test runs?',)
    >>> split_message("lint and test the parser")
    ('lint and test the parser',)
    >>> split_message("The build is red, can you fix it? Then push")
    ('The build is red, can you fix it?', 'Then push')
    >>> split_message("Perfect! Commit this, then deploy it")
    ('Commit this', 'deploy it')
    """
    if len(text) > MAX_CHARS:
        return (text.strip(),)
    sentences = _cut(text, [found.span() for found in _HARD.finditer(text)])
    pieces = [part for sentence in sentences for part in _cut(sentence, _soft_cuts(sentence))]
    parts = _with_mending([one for one in pieces if _WORD.search(one) and not is_lead_in(one)])
    return parts if 1 < len(parts) <= MAX_PARTS else (text.strip(),)


def _with_mending(parts: list[str]) -> tuple[str, ...]:
    """The parts, "fix it" together with what it is said of: a report of what fails."""
    joined: list[str] = []
    for part in parts:
        verb, *rest = _first_words(part) or [""]
        mends = verb in _MENDING and bool({*rest[:1]} & (cc.PERSONAL | cc.DEMONSTRATIVES))
        if joined and mends:
            joined[-1] += f", {part}"
        else:
            joined.append(part)
    return tuple(joined)


def _cut(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    """The pieces of a text, but for cuts inside of what stays together."""
    closed = [found.span() for found in _PROTECTED.finditer(text)]
    pieces, begin = [], 0
    for start, end in cuts:
        if not any(first < end and start < last for first, last in closed):
            pieces.append(text[begin:start])
            begin = end
    pieces = [piece.strip(" \t\n,") for piece in (*pieces, text[begin:])]
    return [piece for piece in pieces if piece]


def _soft_cuts(sentence: str) -> list[tuple[int, int]]:
    """Where a request of a sentence is complete and another one begins."""
    if _CONDITION.match(sentence):
        return []
    first = _WORD.match(without_lead_in(sentence))
    asks = sentence.endswith("?") and first is not None and first[0].lower() in _QUESTIONS
    cuts, begin = [], 0
    for match in islice(_SOFT.finditer(sentence), MOST_CUTS):
        before, after = sentence[begin : match.start()], sentence[match.end() :]
        words = _first_words(after)
        question = bool({*words[:1]} & _QUESTIONS)
        linked = match[0].strip(" ,") != "" and len(words) > 2  # a question only behind "and"
        # "how do I start the server and open the page?" is one
        told = _is_command(words) and (
            question or _ASKED_OF_YOU.match(after) is not None or not asks
        )
        opens = (question and linked) or told
        if opens and not _OTHERS_ACT.search(before) and _is_complete(before):
            cuts.append(match.span())
            begin = match.end()
    return cuts


def _first_words(text: str) -> list[str]:
    """The first words of a text without its lead-in; none where it goes on with a clause."""
    core = without_lead_in(text)
    return [] if _TAIL.match(core) else [word.lower() for word in _WORD.findall(core[:80])]


def _is_complete(before: str) -> bool:
    """Whether a request could end here: it has more than its verb, or needs no more."""
    core = without_lead_in(before).rstrip(" .,!").lower()
    last = _VERB_LAST.search(core)
    if last and last[1] in _COMMANDS:  # "how do I build (and test the project)"
        return False
    return core in _COMPLETE_ALONE or len(_WORD.findall(core)) > 1


def _is_command(words: list[str]) -> bool:
    """Whether words begin a command: "ship it", "propose a plan" with the verb in its base form."""
    verb, *rest = words or [""]
    governs = bool({*rest[:1]} & _OBJECT_BEGINS) and readings(verb).verb == verb
    return verb in _COMMANDS or governs
