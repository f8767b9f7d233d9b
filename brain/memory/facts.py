"""The facts of a text that a summary must not lose: dates, amounts, names, identifiers, decisions.

Found by their shape, without a model. A fact is the same fact in another spelling: "May 3rd,
2024" and "2024-05-03", "$1,200" and "$1200".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from kds.brain.words.identifiers import is_compound
from kds.brain.words.period import MONTHS

FactKind = Literal["decision", "date", "amount", "identifier", "name"]

SAME_DECISION: Final = 0.75
"""The share of a decision's words by which it is recognised in other words: leaving out "we" and
"the" costs none of them, leaving out what was decided costs more."""

READ_CHARS: Final = 20_000
"""Characters of one message that are looked at: no summary holds more facts than these have."""

SENTENCES_KNOWN: Final = 2048
"""Sentences whose facts are remembered: a summary is read again at every turn."""

FILE_ENDINGS: Final = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|css|scss|html?|vue|svelte|json|jsonl|ya?ml|toml|ini|cfg|conf|env"
    "|md|rst|txt|csv|tsv|xlsx?|docx?|pptx?|pdf|sql|db|sqlite3?|sh|bash|zsh|ps1|bat|rb|go|rs|java|kt"
    "|swift|c|h|cc|cpp|hpp|cs|php|pl|lua|r|ipynb|xml|svg|png|jpe?g|gif|webp|mp[34]|log|lock|zip"
    "|gz|tar|whl|proto|graphql|tf"
)

_SENTENCE_CHARS: Final = 600
"""Characters of a sentence that are looked at for a decision: longer ones are pasted data."""

_CLAUSE_WORDS: Final = 4
"""A clause with fewer words says too little: then the whole sentence stands for the decision."""

_NAMES_OF_MONTHS: Final = (
    *(name.capitalize() for name in MONTHS),
    *"Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec".split(),
)
_MONTH: Final = rf"(?:{'|'.join(_NAMES_OF_MONTHS)})"

_COMMON_WORDS: Final = frozenset(
    Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split()
).union(name.lower() for name in _NAMES_OF_MONTHS)
"""Words that begin sentences, or say little: not names, and not part of what a decision says."""

_NAME_VERBS: Final = frozenset(
    """is was are were has had have will would can could should said says say asked asks wants
    wanted needs needed thinks suggested suggests proposed reported reports owns takes took
    handles approved approves rejected agreed decided and or from at who called wrote sent joins
    joined leads works likes prefers prefers moved gave runs did does""".split()
)
"""What follows a name at the start of a sentence, and hardly ever an ordinary word."""

_UNITS: Final = (
    r"ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?"
    r"|quarters?|years?|B|[kKMGT]i?B|bytes?|bits?|Mbps|Gbps|px|pt|rem|em|mm|cm|m|km|kg|g|GHz|MHz|Hz"
    r"|percent|degrees?|tokens?|words?|characters?|chars?|lines?|rows?|columns?|files?|pages?"
    r"|users?|people|persons?|customers?|seats?|requests?|retries|times|items?|tests?|tickets?"
    r"|points?|k|million|billion|thousand|hundred|dozen|dollars?|euros?|pounds?|cents?|USD|EUR|GBP"
)
_NUMBER_WORDS: Final = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundreds?|thousands?|millions?|a\ dozen|dozens|half"
)

_FACT: Final = re.compile(
    rf"""(?P<quoted>`[^`\n]{{1,80}}`)
      | (?P<link>https?://[^\s<>()"'`]*[\w/] | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | (?<!\w)@\w[\w.-]*\w)
      | (?<![\w/.-])(?:(?P<version>v?\d+\.\d+\.\d+(?:[-+.]\w+)*\b(?![/]))
        | (?P<path>
            [A-Za-z]:\\[\w\\.-]+
          | (?:~|\.{{1,2}})?/(?:[\w@.-]+/)*[\w@.-]*\w/?(?![\w<])
          | (?:[\w@.-]+/){{2,}}[\w@.-]*\w
          | (?:[\w@.-]+/)+[\w@-]+\.\w{{1,6}}\b
          | (?:[\w@.-]+/)+[\w@.]*[-_\d][\w@.-]*
          | [\w@-][\w@.-]*\.(?:{FILE_ENDINGS})\b)
        | (?P<date>
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
          | \d{{1,2}}\s?(?i:[ap]m)\b))
      | (?<![\w.])(?P<identifier>
            v\d+(?:\.\d+)?\b
          | (?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,40}}\b
          | \#\d+\b
          | [A-Z][A-Z0-9]{{1,9}}-\d+\b
          | --?[a-zA-Z][\w-]*(?:=\S*[\w])?
          | [A-Za-z]\w*(?:\.[A-Za-z_]\w*)*\(\)
          | _*[A-Za-z]\w*(?:(?:\.|::|->)_*[A-Za-z]\w*)+
          | _*[A-Za-z0-9]+_\w*\w
          | [a-z]+\d*[A-Z]\w*
          | (?:[A-Z][a-z0-9]+){{2,}}[A-Z]*\b
          | [A-Za-z]+\d\w*\b)
      | (?<![\w])(?P<amount>
            [$€£¥]\s?\d[\d,.]*(?:\s?(?:k|m|bn|million|billion)\b)?
          | \d+(?:[.,]\d+)*(?:\s?%|\s?(?:{_UNITS})\b(?![-/]))?(?!\w))
      | (?<!\w)(?P<mixed>\d+(?!(?:st|nd|rd|th)\b)[A-Za-z]\w*)
      | (?<!\w)(?P<name>
            [A-Z][\w'’-]*(?:\ (?:(?:de|da|van|von|der|la|of|the)\ ){{0,2}}[A-Z][\w'’-]*)*)
      | (?<!\w)(?P<number>(?i:{_NUMBER_WORDS})(?:\ (?:{_UNITS}))?)\b
    """,
    re.VERBOSE,
)
_KINDS: Final[dict[str, FactKind]] = {"date": "date", "amount": "amount", "number": "amount"}
"""Of the groups of _FACT; the others are identifiers, and names are read further."""

_DATA: Final = re.compile(r"\S{200,}")
"""Keys, encoded files: patterns would look at them for long, and find no facts."""

_DECISION: Final = re.compile(
    r"""\b(?:decid(?:e|ed|es|ing)|decisions?|agreed?|settled?\son|concluded?|conclusion
      | let[’']?s\s(?:go\swith|use|keep|drop|not|stay|stick|switch|skip|leave|postpone|do|call)
      | (?:go|going|went|stick|sticking|stay|staying)\swith
      | ch(?:oose|ose|osen|oosing)|pick(?:ed)?\b(?=.*\b(?:over|instead|for)\b)|opt(?:ed)?\sfor
      | instead\sof|rather\sthan|no\slonger|from\snow\son|in\sfavou?r\sof
      | (?:we|i)(?:[’']ll|\swill|\sshall|\smust|\smust\snot|\swon[’']t)
      | must(?:\snot|n[’']t)?|never|always|mandatory|required?
      | approved?|rejected?|cancell?ed|postponed?|confirmed?|deadline|finali[sz]ed?
      | switch(?:ed|ing)?\s(?:to|from)|migrat(?:e|ed|ing)\s(?:to|from)
      | replac(?:e|ed|ing)\b.*\b(?:with|by)
      | use\s.{1,60}\bnot\b|prefer(?:red|s)?|plan(?:ned)?\sis\sto
      )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What says that something was settled. Rather too many than too few: a sentence that is kept
without need costs words, one that is lost costs the decision."""

_OPENER: Final = re.compile(
    r"(?:(?:ok(?:ay)?|alright|so|well|and|but|yes|yeah|yep|sure|great|perfect|thanks|thank you"
    r"|please|hmm?|hi|hello|hey|oh|cool|nice|sorry|actually|basically|then|note that|also|good)"
    r"\b[,.!]*\s+)+",
    re.IGNORECASE,
)
"""What a sentence may begin with, and says nothing."""

_CLAUSE: Final = re.compile(
    r";|\s[-–—]\s|,\s(?:because|so|since|which|but|while|although)\b"
    r"|\s(?:because|since|so\sthat|although)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+")
_DAY: Final = re.compile(
    rf"(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,?"
    r"(?: (?P<year>\d{4}))?"
    rf"|(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?(?: (?P<year2>\d{{4}}))?"
    r"|(?P<year3>\d{4})-(?P<month3>\d\d)-(?P<day3>\d\d)",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(r"^(?:next|last|this|on|by|until|every) (?=\w+days?$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it was written. ``key`` is its spelling for comparing; of a decision, its words."""

    kind: FactKind
    text: str
    key: str

    @property
    def id(self) -> str:
        """What two tellings share. Only what stands around tells names and identifiers apart."""
        return f"{'name' if self.kind == 'identifier' else self.kind} {self.key}"

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing without its sentence, such as "two" or 10."""
        short = len(self.text) < 3 or not any(map(str.isdigit, self.text))
        return self.kind == "amount" and short


@lru_cache(maxsize=SENTENCES_KNOWN)
def facts_of(text: str) -> tuple[Fact, ...]:
    """Return the facts of one sentence in order; a decision, which is all of it, comes first.

    >>> [(fact.kind, fact.text) for fact in facts_of("Pay Maria Lopez $1,200 by May 3rd, 2024.")]
    [('name', 'Maria Lopez'), ('amount', '$1,200'), ('date', 'May 3rd, 2024')]
    >>> [fact.kind for fact in facts_of("We decided to keep src/app.py")]
    ['decision', 'identifier']
    """
    found = tuple(_found(text[:READ_CHARS]))
    if _DECISION.search(text, 0, _SENTENCE_CHARS) and not text.rstrip(" \"')*_").endswith("?"):
        decided = _decided(text)
        if words := telling_words(decided):
            return (Fact("decision", decided, " ".join(words)), *found)
    return found


def facts_of_all(text: str) -> tuple[Fact, ...]:
    """Return the facts of a text line by line, without decisions."""
    return tuple(fact for line in text[:READ_CHARS].splitlines() for fact in _found(line))


class Told:
    """What a text tells: to ask whether it has a fact, in whatever spelling."""

    def __init__(self, text: str) -> None:
        self.facts = facts_of_all(text)
        self._ids = {fact.id for fact in self.facts}
        self._words = frozenset(telling_words(text))
        self._text = f" {_plain(text)} "

    def has(self, fact: Fact) -> bool:
        """Tell whether the text has the fact."""
        if fact.kind == "decision":
            words = fact.key.split()
            return sum(word in self._words for word in words) >= SAME_DECISION * len(words)
        return fact.id in self._ids or f" {_plain(fact.text)} " in self._text


@lru_cache(maxsize=SENTENCES_KNOWN)
def telling_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say something, each once, in lower case."""
    words = (word.casefold() for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON_WORDS))


def _decided(text: str) -> str:
    """Return the clause that says what was decided, without its reasons."""
    cue = _DECISION.search(text, 0, _SENTENCE_CHARS)
    at = cue.start() if cue else 0
    borders = [0, *(border.start() for border in _CLAUSE.finditer(text)), len(text)]
    start = max(border for border in borders if border <= at)
    end = min(border for border in borders if border > at)
    if len(text[start:end].split()) < _CLAUSE_WORDS:
        start, end = 0, len(text)
    start += len(text[start:end]) - len(text[start:end].lstrip(" ,;:-–—"))
    if opener := _OPENER.match(text, start, at):
        start = opener.end()
    return text[start:end].rstrip(" ,;:.!")


def _found(text: str) -> Iterator[Fact]:
    text = _DATA.sub(lambda run: " " * len(run[0]), text)
    for match in _FACT.finditer(text):
        group = match.lastgroup or ""
        if group == "name":
            yield from _names(text, *match.span(group))
            continue
        said = match[group].strip("` ") if group == "quoted" else match[group].rstrip(",.")
        if said:
            kind = _KINDS.get(group, "identifier")
            yield Fact(kind, said, _key(kind, said))


def _names(text: str, start: int, end: int) -> Iterator[Fact]:
    """Yield the name in a run of capitalised words, without what a sentence begins with."""
    words = text[start:end].split(" ")
    while words and words[0].casefold() in _COMMON_WORDS:
        start += len(words.pop(0)) + 1
    while words and words[-1].casefold() in _COMMON_WORDS:
        words.pop()
    name = re.sub(r"['’](?:s|ll|d|re|ve)?$", "", " ".join(words))
    before = text[:start].rstrip(" \"'“(*_")
    begins_sentence = not before or before[-1] in ".!?:…"
    if len(name) < 2 or (
        begins_sentence and len(words) == 1 and not _is_surely_name(text, start, name)
    ):
        return
    kind: FactKind = "identifier" if is_compound(name) else "name"
    yield Fact(kind, name, _plain(name))


def _is_surely_name(text: str, start: int, name: str) -> bool:
    """Tell whether a capitalised word at the start of a sentence is a name all the same."""
    if name.isupper():
        return True
    after = text[start + len(name) :]
    following = re.match(r"(['’]s)?[ ,]*(\w+)?", after)
    if following and (following[1] or (following[2] or "").casefold() in _NAME_VERBS):
        return True
    return re.search(rf"[^.!?\s]\s+{re.escape(name)}\b", text[:start] + after) is not None


def _key(kind: FactKind, said: str) -> str:
    if kind == "amount":
        return re.sub(r"(?<=\d),(?=\d{3})|\s", "", said).casefold()
    if kind == "date" and (found := _DAY.fullmatch(said)):
        year, month, day = (
            next(filter(None, (found[f"{part}{one}"] for one in ("", "2", "3"))), "")
            for part in ("year", "month", "day")
        )
        number = month if month.isdigit() else _MONTH_NUMBERS[month[:3].lower()]
        return "-".join(str(int(part)) for part in (year, number, day) if part)
    return _plain(_LEAD.sub("", said) if kind == "date" else said)


_MONTH_NUMBERS: Final = {name[:3]: str(number) for number, name in enumerate(MONTHS, start=1)}


def _plain(text: str) -> str:
    """Lower case, and one space for whatever is neither letter nor digit nor part of a name."""
    return re.sub(r"[^\w$€£¥%#@/.:-]+|[.:](?=\s|$)", " ", text.casefold()).strip()
