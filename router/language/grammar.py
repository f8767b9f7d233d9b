"""The rules of parts of speech, clauses and phrases (`grammar.yaml`), and which of them holds."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from kds.brain.yaml_files import parse_yaml, read_text
from kds.router.english import table

_CONDITION: Final = re.compile(
    r"(?P<never>!?)(?P<way><<|>>)(?P<sought>[^/]+)(?:/(?P<until>.+))?"
    r"|(?P<place>-?\d|bb?|first|last):(?P<words>.+)"
)
_PLACES: Final = {"b": (1, 0), "bb": (1, -1), "first": (2, 0), "last": (3, 0)}
_OUTSIDE: Final = frozenset({"END"})

Marks = AbstractSet[str]
"""What is known of a word: itself, its tag, what it can be."""


class Place(NamedTuple):
    """A word that must be, or must not be, one of these."""

    start: int
    """From where: the word itself, the one behind which it stands, the first, the last."""
    offset: int
    sought: frozenset[str]
    negated: bool


class Scan(NamedTuple):
    """Any word on one side, as far as the first that stops the search."""

    step: int
    sought: frozenset[str]
    other: bool
    """Any but those."""
    until: frozenset[str]
    until_other: bool
    negated: bool

    def holds(self, sentence: Sequence[Marks], i: int) -> bool:
        """Whether there is one."""
        i += self.step
        while 0 <= i < len(sentence):
            if self.sought.isdisjoint(sentence[i]) == self.other:
                return not self.negated
            if self.until and self.until.isdisjoint(sentence[i]) == self.until_other:
                break
            i += self.step
        return self.negated


class Rule(NamedTuple):
    """A tag, "PASS" or more rules, where all conditions hold."""

    tag: str
    then: "tuple[Rule, ...]"
    places: tuple[Place, ...]
    scans: tuple[Scan, ...]


def verdict(rules: Sequence[Rule], sentence: Sequence[Marks], i: int, behind: int = -1) -> str:
    """The tag that the rules give word ``i``, which stands behind another; "" for none."""
    starts, size = (i, behind, 0, len(sentence) - 1), len(sentence)
    for tag, then, places, scans in rules:
        for start, offset, sought, negated in places:
            at = starts[start] + offset
            if sought.isdisjoint(sentence[at] if 0 <= at < size else _OUTSIDE) != negated:
                break
        else:
            holds = all(scan.holds(sentence, i) for scan in scans)
            if holds and (found := tag or verdict(then, sentence, i, behind)):
                return "" if found == "PASS" else found
    return ""


class Grammar:
    """All rules of `grammar.yaml`."""

    def __init__(self) -> None:
        path = Path(__file__).with_name("grammar.yaml")
        self._data = cast("dict[str, Any]", parse_yaml(str(read_text(path)), path=str(path)).data)
        self._lists = {
            **table("closed_class"),
            **table("verbs"),
            **table("qualities"),
            **table("nouns"),
        }
        self.closed: dict[str, str] = {}
        """The tag of a function word that has only one."""
        for line in self._data["closed"]:
            tag, listed, *without = re.split(r" (?:but )?", line)
            for word in self._marks(listed) - self._marks(*without):
                self.closed.setdefault(word, tag)
        self.function = {
            word: self._rules(rules)
            for words, rules in self._data["function"].items()
            for word in words.split()
        }
        """The rules of each function word that has several."""
        self.phrasal = self._rules(self._data["phrasal"])
        self.shape = self._rules(self._data["shape"])
        self.open = self._rules(self._data["open"])
        self.clause = self._rules(self._data["clause"])
        self.mood = self._rules(self._data["mood"])
        self.phrase = self._rules(self._data["phrase"])

    def _rules(self, lines: list[Any]) -> tuple[Rule, ...]:
        return tuple(map(self._rule, lines))

    def _rule(self, line: Any) -> Rule:
        then: list[Any] = []
        if isinstance(line, dict):
            [(line, then)] = line.items()
            line = f"= {line}"
        tag, *conditions = line.split()
        if tag.startswith("="):
            then, tag = then or self._data[tag[1:]], ""
        found = [_CONDITION.fullmatch(one) for one in conditions]
        places = tuple(self._place(one) for one in found if one and one["place"])
        scans = tuple(self._scan(one) for one in found if one and one["way"])
        if len(places) + len(scans) < len(found):
            raise ValueError(f"grammar.yaml: a condition of '{line}' is none")
        return Rule(tag, self._rules(then), places, scans)

    def _place(self, found: re.Match[str]) -> Place:
        negated, words = self._either(found["words"])
        start, offset = _PLACES.get(found["place"]) or (0, int(found["place"]))
        return Place(start, offset, words, negated)

    def _scan(self, found: re.Match[str]) -> Scan:
        step = -1 if found["way"] == "<<" else 1
        other, sought = self._either(found["sought"])
        until_other, until = self._either(found["until"] or "")
        return Scan(step, sought, other, until, until_other, bool(found["never"]))

    def _either(self, text: str) -> tuple[bool, frozenset[str]]:
        """Whether "!" stands before the alternatives, and what they are looked up by."""
        return text.startswith("!"), self._marks(text.removeprefix("!"))

    def _marks(self, text: str = "") -> frozenset[str]:
        found: set[str] = set()
        for one in filter(None, text.split("|")):
            kind, name = one[0], one[1:]
            if kind == "@" and name in self._data["lists"]:
                found |= self._marks(self._data["lists"][name])
            elif kind == "@":
                found |= self._lists[name]
            elif kind == "~":
                found |= {f"~{verb}" for verb in self._lists.get(name, {name})}
            else:
                found.add(one)
        return frozenset(found)


@cache
def grammar() -> Grammar:
    """The rules, read once."""
    return Grammar()
