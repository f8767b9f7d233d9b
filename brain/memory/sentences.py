"""Messages, and an earlier summary, taken apart into sentences with their facts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kds.brain.memory.facts import READ_CHARS, Fact, FactKind, facts_of
from kds.brain.memory.transit import mark_code
from kds.brain.passages.values import Message

LABELS: Final = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}

LISTED: Final[dict[FactKind, str]] = {
    "decision": "Decided",
    "date": "Dates",
    "amount": "Amounts",
    "name": "Names",
    "identifier": "Files and identifiers",
}
"""What the lines of facts begin with that stand in a summary without their sentences."""

_STARTS: Final = (*(f"{label}: " for label in LISTED.values()), "Also: ")
"""The last one is that of summaries which an earlier KDS stored."""

_LEFT_OUT: Final = re.compile(r"\((\d+) more facts? left out\)")

_LONGEST: Final = 300
"""Characters of one sentence; longer stretches without an end are cut between words."""

_END: Final = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|vs|No)\.)(?<!\b(?:Mrs|e\.g|i\.e|etc)\.)"
    r"[\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9/.@#…-])|(?<=[。！？])|(?<=\])\s+(?=[A-Z])"
)
_BULLET: Final = re.compile(r"^[\s>]*(?:#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")
_CODE_MARK: Final = re.compile(r"\[code: (?P<said>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a summary would have it; ``source`` 0 is the earlier summary, then messages."""

    label: str
    text: str
    facts: tuple[Fact, ...]
    source: int
    first: bool
    """Whether the message begins with it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is to be summarised."""

    sentences: tuple[Sentence, ...]
    loose: tuple[Fact, ...]
    """Facts that an earlier summary has without their sentences."""
    left_out: int
    """Facts that earlier summaries had no room for."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Every fact, as often as it is told."""
        return (*self.loose, *(fact for one in self.sentences for fact in one.facts))


def read(messages: Iterable[Message], previous: str = "") -> Reading:
    """Take apart messages and the summary of what was before them."""
    sentences, loose, left_out = _read_summary(previous)
    for source, message in enumerate(messages, start=1):
        label = message.speaker or LABELS[message.role]
        text = mark_code(message.content[:READ_CHARS])
        sentences += _sentences(text, label, source)
    return Reading(tuple(sentences), tuple(loose), left_out)


def split(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without bullets; lines end sentences.

    >>> list(split("Ask Dr. Lee. Then:\\n- add it\\n- test it! Done?"))
    ['Ask Dr. Lee.', 'Then:', 'add it', 'test it!', 'Done?']
    """
    for line in text.splitlines():
        for part in _END.split(_BULLET.sub("", line)):
            yield from _bounded(part.strip())


def _bounded(sentence: str) -> Iterator[str]:
    while len(sentence) > _LONGEST:
        border = sentence.rfind(" ", 0, _LONGEST)
        border = border if border > _LONGEST // 2 else _LONGEST
        yield sentence[:border]
        sentence = sentence[border:].lstrip()
    if sentence:
        yield sentence


def _sentences(text: str, label: str, source: int) -> list[Sentence]:
    found: list[Sentence] = []
    for said in split(text):
        facts, words = _facts(said), said.split()
        if facts or len(words) > 1:
            found.append(Sentence(label, " ".join(words), facts, source, first=not found))
    return found


def _facts(said: str) -> tuple[Fact, ...]:
    facts = facts_of(said)
    if not (mark := _CODE_MARK.search(said)):
        return facts
    inside = range(*mark.span())  # "12 lines" of code are nobody's amount
    return tuple(fact for fact in facts if fact.kind == "identifier" or fact.start not in inside)


def _read_summary(previous: str) -> tuple[list[Sentence], list[Fact], int]:
    left_out = sum(int(found[1]) for found in _LEFT_OUT.finditer(previous))
    sentences: list[Sentence] = []
    loose: list[Fact] = []
    for line in _LEFT_OUT.sub("", previous).splitlines():
        if start := next((one for one in _STARTS if line.startswith(one)), ""):
            items = (item.strip() for item in line.removeprefix(start).split("; "))
            loose += [_loose(item) for item in items if item]
            continue
        label, text = _labelled(line)
        sentences += _sentences(text, label, source=0)
    return sentences, loose, left_out


def _labelled(line: str) -> tuple[str, str]:
    for label in LABELS.values():
        if line.startswith(f"{label}: "):
            return label, line.removeprefix(f"{label}: ")
    return "", line


def _loose(item: str) -> Fact:
    """Read a fact that stands alone: what it was taken for cannot be seen any more."""
    found = facts_of(item)
    if found and found[0].kind == "decision":
        return found[0]
    whole = next((fact for fact in found if fact.text == item), None)
    return whole or Fact("name", item, item.casefold(), 0, len(item))


def listed(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield a line for each kind of facts that stand in a summary without their sentences.

    >>> list(listed(facts_of("Pay Maria Lopez $1,200, then pay Ann Lee.")))
    ['Amounts: $1,200', 'Names: Maria Lopez; Ann Lee']
    """
    found = tuple(facts)
    for kind, label in LISTED.items():
        if texts := [fact.text for fact in found if fact.kind == kind]:
            yield f"{label}: {'; '.join(texts)}"


def left_out_note(count: int) -> str:
    """Say how many facts a summary had no room for; "" for none."""
    return f"({count} more {'fact' if count == 1 else 'facts'} left out)" if count else ""
