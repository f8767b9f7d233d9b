"""The facts of a text that a summary must not lose: dates, amounts, names, identifiers, decisions.

Found by their shape, without a model. A fact is the same fact in another spelling: "May 3rd,
2024" and "2024-05-03", "$1,200" and "$1200".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from kds.brain.memory.fact_words import (
    COMMON_WORDS,
    DECISION,
    FILE_ENDINGS,
    MONTHS,
    MONTHS_BY_START,
    NAME_VERBS,
    NUMBER_WORDS,
    OPENER,
    UNITS,
)
from kds.brain.words.identifiers import is_compound

FactKind = Literal["decision", "date", "amount", "identifier", "name"]

SAME_DECISION: Final = 0.75
"""The share of a decision's words by which it is recognised in other words: leaving out "we" and
"the" costs none of them, leaving out what was decided costs more."""

READ_CHARS: Final = 20_000
"""Characters of one message that are looked at: no summary holds more facts than these have."""

SENTENCES_KNOWN: Final = 2048
"""Sentences whose facts are remembered: a summary is read again at every turn."""

SENTENCE_CHARS: Final = 600
"""Characters of a sentence that are looked at for a decision: longer ones are pasted data."""

_CLAUSE: Final = re.compile(
    r";|\s[-–—]\s|,\s(?:because|so|since|which|but|while|although)\b"
    r"|\s(?:because|since|so\sthat|although)\b",
    re.IGNORECASE,
)
_CLAUSE_WORDS: Final = 4
"""A clause with fewer says too little: the whole sentence then stands for the decision."""

_DATA: Final = re.compile(r"\S{200,}")
"""Keys, encoded files, rows of signs: no facts in them, and patterns would look for long."""

_MONTH: Final = r"(?:" + "|".join(MONTHS) + r")"
_DATE: Final = rf"""
    \d{{4}}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?
  | \d{{1,2}}[./]\d{{1,2}}[./](?:\d{{4}}|\d\d)
  | (?i:(?:the\ )?\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}\b\.?(?:,?\ \d{{4}}\b)?)
  | {_MONTH}\b\.?\ \d{{1,2}}(?:st|nd|rd|th)?\b(?!\s*[%:])(?:,?\ \d{{4}}\b)?
  | {_MONTH}\b\.?\ \d{{4}}\b
  | (?i:Q[1-4]\ ?/?\ ?(?:19|20)\d\d|(?:calendar\ )?week\ \d{{1,2}}\b)
  | (?i:(?:(?:next|last|this|on|by|until|every)\ )?
        (?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b
  | (?i:(?:next|last|this)\ (?:week|month|quarter|year|spring|summer|autumn|fall|winter))\b
  | (?i:tomorrow|yesterday|tonight)\b
  | \d{{1,2}}:\d\d(?::\d\d)?(?:\s?(?i:[ap]m))?\b
  | \d{{1,2}}\s?(?i:[ap]m)\b
"""
_AMOUNT: Final = rf"""
    [$€£¥]\s?\d[\d,.]*(?:\s?(?:k|m|bn|million|billion)\b)?
  | \d+(?:[.,]\d+)*(?:\s?%|\s?(?:{UNITS})\b(?![-/]))?(?!\w)
"""
_PATH: Final = rf"""
    [A-Za-z]:\\[\w\\.-]+
  | (?:~|\.{{1,2}})?/(?:[\w@.-]+/)*[\w@.-]*\w/?(?![\w<])
  | (?:[\w@.-]+/){{2,}}[\w@.-]*\w
  | (?:[\w@.-]+/)+[\w@-]+\.\w{{1,6}}\b
  | (?:[\w@.-]+/)+[\w@.]*[-_\d][\w@.-]*
  | [\w@-][\w@.-]*\.(?:{FILE_ENDINGS})\b
"""
_IDENTIFIER: Final = r"""
    v?\d+\.\d+\.\d+(?:[-+.]\w+)*\b
  | v\d+(?:\.\d+)?\b
  | (?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b
  | \#\d+\b
  | [A-Z][A-Z0-9]{1,9}-\d+\b
  | --?[a-zA-Z][\w-]*(?:=\S*[\w])?
  | [A-Za-z]\w*(?:\.[A-Za-z_]\w*)*\(\)
  | _*[A-Za-z]\w*(?:(?:\.|::|->)_*[A-Za-z]\w*)+
  | _*[A-Za-z0-9]+_\w*\w
  | [a-z]+\d*[A-Z]\w*
  | (?:[A-Z][a-z0-9]+){2,}[A-Z]*\b
  | [A-Za-z]+\d\w*\b
"""
_NAME: Final = r"[A-Z][\w'’-]*(?:\ (?:(?:de|da|van|von|der|la|of|the)\ ){0,2}[A-Z][\w'’-]*)*"

_FACT: Final = re.compile(
    rf"""(?P<quoted>`[^`\n]{{1,80}}`)
      | (?P<link>https?://[^\s<>()"'`]*[\w/] | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | (?<!\w)@\w[\w.-]*\w)
      | (?<![\w/.-])(?:(?P<version>v?\d+\.\d+\.\d+(?:[-+.]\w+)*\b(?![/]))
        | (?P<path>{_PATH})
        | (?P<date>{_DATE}))
      | (?<![\w.])(?P<identifier>{_IDENTIFIER})
      | (?<![\w])(?P<amount>{_AMOUNT})
      | (?<!\w)(?P<mixed>\d+(?!(?:st|nd|rd|th)\b)[A-Za-z]\w*)
      | (?<!\w)(?P<name>{_NAME})
      | (?<!\w)(?P<number>(?i:{NUMBER_WORDS})(?:\ (?:{UNITS}))?)\b
    """,
    re.VERBOSE,
)

_KINDS: Final[dict[str, FactKind]] = {
    "date": "date",
    "amount": "amount",
    "number": "amount",
    "name": "name",
}
"""Of the groups of _FACT; the others are identifiers."""

_WORD: Final = re.compile(r"[^\W_]+")
_MONTH_DAY: Final = re.compile(
    rf"(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,?"
    r"(?: (?P<year>\d{4}))?"
    rf"|(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?(?: (?P<year2>\d{{4}}))?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)$")
_LEAD: Final = re.compile(r"^(?:next|last|this|on|by|until|every) (?=\w+days?$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact where it stands: ``text[start:end]`` of the text it was found in.

    ``key`` is its spelling for comparing; of a decision, its words.
    """

    kind: FactKind
    text: str
    key: str
    start: int
    end: int


@lru_cache(maxsize=SENTENCES_KNOWN)
def facts_of(text: str) -> tuple[Fact, ...]:
    """Return the facts of one sentence in order; a decision, which is all of it, comes first.

    >>> [(fact.kind, fact.text) for fact in facts_of("Pay Maria Lopez $1,200 by May 3rd, 2024.")]
    [('name', 'Maria Lopez'), ('amount', '$1,200'), ('date', 'May 3rd, 2024')]
    >>> [fact.kind for fact in facts_of("We decided to keep src/app.py")]
    ['decision', 'identifier']
    """
    found = tuple(_found(text[:READ_CHARS]))
    if DECISION.search(text, 0, SENTENCE_CHARS) and not text.rstrip(" \"')*_").endswith("?"):
        start, end = _core(text)
        if words := decision_words(text[start:end]):
            return (Fact("decision", text[start:end], " ".join(words), start, end), *found)
    return found


def _core(text: str) -> tuple[int, int]:
    """Return where the clause stands that says what was decided, without its reasons."""
    cue = DECISION.search(text, 0, SENTENCE_CHARS)
    at = cue.start() if cue else 0
    borders = [0, *(border.start() for border in _CLAUSE.finditer(text)), len(text)]
    start = max(border for border in borders if border <= at)
    end = min(border for border in borders if border > at)
    if len(text[start:end].split()) < _CLAUSE_WORDS:
        start, end = 0, len(text)
    start += len(text[start:end]) - len(text[start:end].lstrip(" ,;:-–—"))
    if opener := OPENER.match(text, start, at):
        start = opener.end()
    return start, start + len(text[start:end].rstrip(" ,;:.!"))


@lru_cache(maxsize=SENTENCES_KNOWN)
def decision_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say something, each once, in lower case."""
    words = (word.casefold() for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in words if word not in COMMON_WORDS))


class Told:
    """What a text tells: to ask whether it has a fact, in whatever spelling."""

    def __init__(self, text: str) -> None:
        self.facts = facts_of_all(text)
        self._keys = {(_family(fact), fact.key) for fact in self.facts}
        self._words = frozenset(decision_words(text))
        self._text = f" {_plain(text)} "

    def has(self, fact: Fact) -> bool:
        """Tell whether the text has the fact."""
        if fact.kind == "decision":
            words = fact.key.split()
            present = sum(word in self._words for word in words)
            return present >= SAME_DECISION * len(words)
        return (_family(fact), fact.key) in self._keys or f" {_plain(fact.text)} " in self._text


def facts_of_all(text: str) -> tuple[Fact, ...]:
    """Return the facts of a text line by line, without decisions; positions are in the lines."""
    return tuple(fact for line in text[:READ_CHARS].splitlines() for fact in _found(line))


def _found(text: str) -> Iterator[Fact]:
    text = _DATA.sub(lambda run: " " * len(run[0]), text)
    for match in _FACT.finditer(text):
        group = match.lastgroup or ""
        start, end = match.span(group)
        if group == "name":
            yield from _names(text, start, end)
            continue
        said = match[group].rstrip(",.")
        if group == "quoted":
            start, end, said = start + 1, end - 1, match[group][1:-1].strip()
        if said:
            kind = _KINDS.get(group, "identifier")
            yield Fact(kind, said, _key(kind, said), start, start + len(said))


def _names(text: str, start: int, end: int) -> Iterator[Fact]:
    """Yield the name in a run of capitalised words, without what a sentence begins with."""
    words = text[start:end].split(" ")
    while words and words[0].casefold() in COMMON_WORDS:
        start += len(words.pop(0)) + 1
    while words and (words[-1].casefold() in COMMON_WORDS):
        words.pop()
    name = _without_possessive(" ".join(words))
    if not name or (len(name) == 1 and len(words) == 1):
        return
    if len(words) == 1 and _begins_sentence(text, start) and not _is_surely_name(text, start, name):
        return
    kind: FactKind = "identifier" if is_compound(name) else "name"
    yield Fact(kind, name, _key(kind, name), start, start + len(name))


def _without_possessive(name: str) -> str:
    return re.sub(r"['’](?:s|ll|d|re|ve)?$", "", name)


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'“(*_")
    return not before or before[-1] in ".!?:…"


def _is_surely_name(text: str, start: int, name: str) -> bool:
    """Tell whether a capitalised word at the start of a sentence is a name all the same."""
    if name.isupper():
        return True
    after = text[start + len(name) :]
    following = re.match(r"(['’]s)?[ ,]*(\w+)?", after)
    if following and (following[1] or (following[2] or "").casefold() in NAME_VERBS):
        return True
    return re.search(rf"[^.!?\s]\s+{re.escape(name)}\b", text[:start] + after) is not None


def _family(fact: Fact) -> str:
    """A name and an identifier may be told apart by their surroundings only."""
    return "name" if fact.kind in ("name", "identifier") else fact.kind


def _key(kind: FactKind, said: str) -> str:
    if kind == "date":
        return _date_key(said)
    if kind == "amount":
        return re.sub(r"(?<=\d),(?=\d{3})|\s", "", said).casefold()
    return _plain(said)


def _date_key(said: str) -> str:
    if found := _ISO.match(said):
        return f"{int(found['year'])}-{int(found['month'])}-{int(found['day'])}"
    if found := _MONTH_DAY.fullmatch(said):
        month = MONTHS_BY_START[(found["month"] or found["month2"])[:3].lower()]
        year = found["year"] or found["year2"]
        day = int(found["day"] or found["day2"])
        return f"{int(year)}-{month}-{day}" if year else f"{month}-{day}"
    return _plain(_LEAD.sub("", said))


def _plain(text: str) -> str:
    """Lower case, and one space for whatever is neither letter nor digit nor part of a name."""
    return re.sub(r"[^\w$€£¥%#@/.:-]+|[.:](?=\s|$)", " ", text.casefold()).strip()
