"""What keeps entries from being chosen; each finding has its fix."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Final, Literal

from kds.activation.activator import Activator
from kds.activation.discovery import READS, Entry, reads
from kds.activation.features import pattern, sentences_of, spoken, terms_of
from kds.brain.encoder import shared_encoder

FindingKind = Literal["unread", "same", "unreached", "short", "when", "long", "budget"]

SAME_MEANING: Final = 0.92
"""The cosine of two descriptions from which on they are near-duplicates."""
SHORT_WORDS: Final = 5
"""Content words of a description, below which it says too little to be found by."""
DESCRIPTION_LIMIT: Final = 1024
"""Characters that the description of a skill may have (agentskills.io)."""
DESCRIPTION_LIMITS: Final[Mapping[str, int]] = {"claude": 1536}
"""Characters of a description that a client shows its model; the rest is cut."""
LISTING_BUDGETS: Final[Mapping[str, int]] = {"claude": 8000}
"""Characters of the whole listing: 1 % of the context window, 8,000 where its size is unknown.
Descriptions beyond it are dropped."""
CHARACTERS_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that keeps entries from being chosen."""

    kind: FindingKind
    entries: tuple[str, ...]
    where: str
    message: str
    hint: str


def listing_tokens(entries: Sequence[Entry]) -> Mapping[str, int]:
    """Return, for each client, about how many tokens its listing takes in every request."""
    listed = [one for one in entries if one.kind in ("skill", "agent") and one.suggested]
    sizes = {client: sum(_size(one) for one in listed if reads(client, one)) for client in READS}
    return {client: size // CHARACTERS_PER_TOKEN for client, size in sizes.items() if size}


def _size(entry: Entry) -> int:
    shown = min(len(entry.description), _limit(entry))
    return len(entry.name) + shown + 4


def _limit(entry: Entry) -> int:
    return DESCRIPTION_LIMITS.get(entry.client, DESCRIPTION_LIMIT)


def check_entries(activator: Activator) -> tuple[Finding, ...]:
    """Return what is wrong with the entries, by kind."""
    entries = activator.entries
    return (
        *map(_unread, activator.problems),
        *_duplicates(entries),
        *_unreached(activator),
        *(found for entry in entries for found in _description(entry)),
        *_over_budget(entries),
    )


def _unread(problem: str) -> Finding:
    where, _, reason = problem.partition(": ")
    hint = "correct the file; until then it is never suggested"
    return Finding("unread", (), where, reason, hint)


def _duplicates(entries: Sequence[Entry]) -> Iterator[Finding]:
    texts = [entry.description or spoken(entry.name) for entry in entries]
    vectors = shared_encoder().encode(texts)
    for row, one in enumerate(entries):
        likeness = vectors @ vectors[row]
        for column, other in enumerate(entries[row + 1 :], start=row + 1):
            if one.client == other.client and likeness[column] >= SAME_MEANING:
                said = f"'{one.name}' and '{other.name}' say the same ({likeness[column]:.2f})"
                hint = f"merge them, or say what only {other.path or other.name} does"
                yield _of(one, "same", said, hint, other.name)


def _unreached(activator: Activator) -> Iterator[Finding]:
    """Entries that their own description does not reach: another one is always nearer."""
    for entry in activator.entries:
        sentences = sentences_of(entry.description)
        asked = [text for text in sentences if not pattern("exclusion").search(text)][:3]
        ranked = (activator.suggest(text).ranked for text in asked or [spoken(entry.name)])
        first = [told[0][0] for told in ranked if told]
        if first and entry.name not in first:
            said = f"a prompt in the words of '{entry.name}' finds '{first[0]}'"
            hint = "name what only it does, in the words that a user would type"
            yield _of(entry, "unreached", said, hint, first[0])


def _description(entry: Entry) -> Iterator[Finding]:
    """What a description lacks: an entry has one finding at most."""
    text, limit = entry.description, _limit(entry)
    named = f"the description of '{entry.name}'"
    if len(set(terms_of(text))) < SHORT_WORDS:
        hint = "say what it does and when to use it: 'Use when ...'"
        if pattern("occasion").search(text):
            hint = "name more of what it works on, in the words that users type"
        yield _of(entry, "short", f"{named} says little: {shorten(text, 80)!r}", hint)
    elif len(text) > limit:
        said = f"{named} has {len(text):,} characters, of which {limit:,} count"
        hint = "say when to use it first, and move the rest into the body"
        yield _of(entry, "long", said, hint)
    elif entry.kind in ("skill", "agent") and not pattern("occasion").search(text):
        hint = "add a sentence with the words that users type: 'Use when ...'"
        yield _of(entry, "when", f"{named} does not say when to use it", hint)


def _over_budget(entries: Sequence[Entry]) -> Iterator[Finding]:
    for client, budget in LISTING_BUDGETS.items():
        listed = [one for one in entries if one.kind == "skill" and one.suggested]
        listed = sorted((one for one in listed if reads(client, one)), key=_size, reverse=True)
        if (size := sum(map(_size, listed))) > budget:
            names = tuple(one.name for one in listed[:3])
            said = f"the listing for {client} has {size:,} characters, {budget:,} are shown"
            hint = f"shorten the longest: {', '.join(names)}"
            yield Finding("budget", names, client, said, hint)


def _of(entry: Entry, kind: FindingKind, said: str, hint: str, *others: str) -> Finding:
    return Finding(kind, (entry.name, *others), str(entry.path or entry.name), said, hint)
