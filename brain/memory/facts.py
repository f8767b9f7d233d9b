"""The facts of a text that a summary must not lose: dates, amounts, names, identifiers, decisions.

Found by their shape, without a model, and compared by their words: "$1,200" and "$1200",
"14 March 2025" and "March 14th, 2025" are the same fact.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from kds.brain.words.period import MONTHS
from kds.brain.words.terms import stem

FactKind = Literal["decision", "date", "amount", "name", "identifier"]

SAME_DECISION: Final = 0.75
"""The share of a decision's words by which it is recognised in other words."""

SAME_START: Final = 3
"""Letters that a word has at least to be a form of another that begins with it."""

READ_CHARS: Final = 20_000
"""Characters of one message that are looked at: no summary holds more facts than these have."""

REMEMBERED: Final = 2048
"""Sentences whose facts are remembered: a summary is read again at every turn."""

FILE_ENDINGS: Final = (
    "py|pyi|js|jsx|ts|tsx|mjs|css|scss|html?|vue|json|jsonl|ya?ml|toml|ini|cfg|conf|env|md|rst|txt"
    "|csv|tsv|xlsx?|docx?|pptx?|pdf|sql|db|sqlite3?|sh|ps1|bat|rb|go|rs|java|kt|swift|c|h|cc|cpp"
    "|hpp|cs|php|lua|r|ipynb|xml|svg|png|jpe?g|gif|log|lock|zip|gz|tar|whl|proto|graphql|tf"
)

_MONTH: Final = (
    rf"(?:{'|'.join(name.capitalize() for name in MONTHS)}"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)"
)
_MONTH_NUMBERS: Final = {
    part: str(number) for number, name in enumerate(MONTHS, 1) for part in (name, name[:3])
}
_COMMON_WORDS: Final = frozenset(
    Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split()
)
"""Words that begin sentences, or say little: not names, and not part of what a decision says."""

_UNITS: Final = (
    r"ms|s|h|[kKMGT]i?B|[MG]bps|px|r?em|[cmk]?m|k?g|[kMG]?Hz|k|USD|EUR|GBP|percent|people|retries"
    r"|(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month|quarter|year|byte|bit|token|word|character"
    r"|line|row|column|file|page|user|customer|seat|request|time|item|test|ticket|point|dollar|euro"
    r"|million|billion|thousand)s?"
)
_FACT: Final = re.compile(
    rf"""(?P<quoted>`[^`\n]{{1,80}}`)
      | (?P<link>https?://[^\s<>()"'`]*[\w/] | [\w.+-]+@[\w-]+(?:\.[\w-]+)+)
      | (?<![\w/.-])(?:(?P<version>v?\d+\.\d+\.\d+\b(?![/\d]))
        | (?P<date>
            \d{{4}}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d(?::\d\d)?)?
          | \d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}
          | \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}\b(?:,?\ \d{{4}}\b)?
          | {_MONTH}\b\.?\ \d{{1,2}}(?:st|nd|rd|th)?\b(?!\s*[%:])(?:,?\ \d{{4}}\b)?
          | {_MONTH}\ \d{{4}}\b | (?i:Q[1-4]\ ?/?\ ?(?:19|20)\d\d | week\ \d{{1,2}})\b
          | (?i:(?:(?:next|last|this|on|by|until|every)\ )?
                (?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b
          | (?i:(?:next|last|this)\ (?:week|month|quarter|year))\b
          | (?i:tomorrow|yesterday|tonight)\b
          | \d{{1,2}}:\d\d(?:\s?(?i:[ap]m))?\b | \d{{1,2}}\s?(?i:[ap]m)\b)
        | (?P<path>
            (?:[A-Za-z]:\\|(?:~|\.{{1,2}})?/)[\w@./\\-]*\w(?![\w<])
          | (?:[\w@.-]+/){{2,}}[\w@.-]*\w | (?:[\w@.-]+/)+[\w@.-]*[-_.\d][\w@.-]*\w
          | [\w@-][\w@.-]*\.(?:{FILE_ENDINGS})\b))
      | (?<![\w.])(?P<identifier>
            (?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,40}}\b
          | \#\d+\b | [A-Z][A-Z0-9]{{1,9}}-\d+\b | --?[a-zA-Z][\w-]*(?:=\S*\w)?
          | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\) | [A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+
          | _*[A-Za-z0-9]+_\w*\w | [a-z]+\d*[A-Z]\w* | (?:[A-Z][a-z0-9]+){{2,}}\b
          | [A-Za-z]+\d\w*\b)
      | (?<!\w)(?P<amount>[$€£¥]\s?\d[\d,.]*(?:\s?(?:k|m|bn|million|billion)\b)?
          | \d+(?:[.,]\d+)*(?:\s?%|\s?(?:{_UNITS})\b(?![-/]))?(?!\w))
      | (?<!\w)(?P<name>
            [A-Z][\w'’-]*(?:\ (?:(?:de|da|van|von|der|la|of|the)\ ){{0,2}}[A-Z][\w'’-]*)*)
    """,
    re.VERBOSE,
)
_NAMED: Final = re.compile(
    r"['’]s|,? (?:is|was|are|has|had|will|would|can|could|should|said|says|asked|asks|wants?|needs?"
    r"|thinks|owns|agreed|decided|and|or|from|at)\b"
)
"""What follows a name at the start of a sentence, and hardly ever an ordinary word."""

_DATA: Final = re.compile(r"\S{200,}")
"""Keys, encoded files: patterns would look at them for long, and find no facts."""

_SENTENCE_CHARS: Final = 600
"""Characters of a sentence that are looked at for a decision: longer ones are pasted data."""

_DECISION: Final = re.compile(
    r"""\b(?:decid(?:e|ed|es|ing)|decisions?|agreed?|settled?\son|concluded?|conclusion
      | let[’']?s\s(?:go\swith|use|keep|drop|not|stay|stick|switch|skip|leave|postpone|do|call)
      | (?:go|going|went|stick|sticking|stay|staying)\swith
      | ch(?:oose|ose|osen|oosing)|pick(?:ed)?\b(?=.*\b(?:over|instead|for)\b)|opt(?:ed)?\sfor
      | instead\sof|rather\sthan|no\slonger|from\snow\son|in\sfavou?r\sof
      | (?:we|i)(?:[’']ll|\swill|\sshall|\smust|\swon[’']t)
      | must(?:\snot|n[’']t)?|never|always|mandatory|required?
      | approved?|rejected?|cancell?ed|postponed?|confirmed?|deadline|finali[sz]ed?
      | (?:switch(?:ed|ing)?|migrat(?:e|ed|ing))\s(?:to|from)|replac(?:e|ed|ing)\b.*\b(?:with|by)
      | use\s.{1,60}\bnot\b|prefer(?:red|s)?|plan(?:ned)?\sis\sto
      )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What says that something was settled. Rather too many than too few: a sentence that is kept
without need costs words, one that is lost costs the decision."""

_CLAUSE: Final = re.compile(
    r";|\s[-–—]\s|,?\s(?=(?:because|since|so\sthat|although|which|but|while)\b)", re.IGNORECASE
)
_CLAUSE_WORDS: Final = 4
"""A clause with fewer words says too little: then the whole sentence stands for the decision."""

_WORD: Final = re.compile(r"\d+(?:[.:]\d+)*|[^\W\d_]+")
_JOINT: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPELLING: Final = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d)(?:st|nd|rd|th)\b|(?<!\d)0+(?=\d)")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it was written; ``key`` are the words by which it is compared."""

    kind: FactKind
    text: str
    key: frozenset[str]


class Told:
    """What a text tells: to ask whether it has a fact, in whatever spelling."""

    def __init__(self, text: str) -> None:
        self.words = words_of(text, every=True)

    def has(self, fact: Fact) -> bool:
        """Tell whether the text has the fact: all of its words, of a decision most of them."""
        least = SAME_DECISION if fact.kind == "decision" else 1.0
        return sum(map(self.says, fact.key)) >= least * len(fact.key)

    def says(self, word: str) -> bool:
        """Tell whether the text has a form of a word."""
        return word in self.words or (
            len(word) >= SAME_START
            and word.isalpha()
            and any(
                one.startswith(word) or (len(one) >= SAME_START and word.startswith(one))
                for one in self.words
            )
        )


@lru_cache(maxsize=REMEMBERED)
def facts_of(text: str) -> tuple[Fact, ...]:
    """Return the facts of one sentence in order; a decision, which is all of it, comes first.

    >>> [(fact.kind, fact.text) for fact in facts_of("Pay Maria Lopez $1,200 by May 3rd, 2024.")]
    [('name', 'Maria Lopez'), ('amount', '$1,200'), ('date', 'May 3rd, 2024')]
    """
    text = _DATA.sub(lambda run: " " * len(run[0]), text[:READ_CHARS])
    found = [*_decisions(text), *_shapes(text)]
    facts = (Fact(kind, said, words_of(said, every=kind != "decision")) for kind, said in found)
    return tuple(fact for fact in facts if fact.key)


def words_of(text: str, *, every: bool = False) -> frozenset[str]:
    """Return the words of a text that say something (``every``: all), as they are compared.

    >>> sorted(words_of("the 03rd loadRows() of $1,200"))
    ['1200', '3', 'load', 'row']
    """
    plain = _JOINT.sub(" ", _SPELLING.sub("", text)).casefold()
    words = _WORD.findall(plain)
    return frozenset(
        _MONTH_NUMBERS.get(word) or stem(word)
        for word in words
        if every or word not in _COMMON_WORDS
    )


def _decisions(text: str) -> Iterator[tuple[FactKind, str]]:
    """Yield the clause that says what was decided, without its reasons."""
    if text.rstrip(" \"')*_").endswith("?") or not _DECISION.search(text, 0, _SENTENCE_CHARS):
        return
    clause = next((one for one in _CLAUSE.split(text) if _DECISION.search(one)), "")
    said = clause if len(clause.split()) >= _CLAUSE_WORDS else text
    yield "decision", said.strip(" ,;:.!-–—")


def _shapes(text: str) -> Iterator[tuple[FactKind, str]]:
    for match in _FACT.finditer(text):
        said = match[0].strip("` ").rstrip(",.")
        match match.lastgroup:
            case "name":
                if name := _name(text, said, match.start()):
                    yield "name", name
            case "date":
                yield "date", said
            case "amount":
                if len(said) > 2:  # a bare number says nothing without its sentence
                    yield "amount", said
            case _:
                yield "identifier", said


def _name(text: str, said: str, start: int) -> str:
    """Return the name in a run of capitalised words, without what a sentence begins with."""
    words = said.split(" ")
    while words and words[0].casefold() in _COMMON_WORDS:
        start += len(words.pop(0)) + 1
    while words and words[-1].casefold() in _COMMON_WORDS:
        words.pop()
    name = re.sub(r"['’](?:s|ll|d|re|ve)?$", "", " ".join(words))
    before = text[:start].rstrip(" \"'“(*_")
    begins = len(words) == 1 and (not before or before[-1] in ".!?:…")
    sure = name.isupper() or not begins or _NAMED.match(text, start + len(name))
    return name if len(name) > 1 and sure else ""
