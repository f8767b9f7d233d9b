"""What keeps entries from being chosen; each finding has its fix."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kds.activation.activator import Activator
from kds.activation.discovery import Entry
from kds.activation.features import sentences_of, spoken, terms_of, words
from kds.brain.encoder import shared_encoder

FindingKind = Literal["unread", "same", "unreached", "short", "long", "budget"]

SAME_MEANING: Final = 0.92
"""The cosine of two descriptions from which on they are near-duplicates."""
SHORT_WORDS: Final = 5
"""Content words of a description, below which it says too little to be found by."""
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
    counts: dict[str, int] = {}
    for entry in entries:
        if entry.kind in {"skill", "agent"} and entry.suggested:
            counts[entry.client] = counts.get(entry.client, 0) + _characters(entry)
    return {client: count // CHARACTERS_PER_TOKEN for client, count in counts.items()}


def _characters(entry: Entry) -> int:
    return len(entry.name) + len(entry.description) + 4


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
    return Finding(
        "unread", (), where, reason, "correct the file; until then it is never suggested"
    )


def _duplicates(entries: Sequence[Entry]) -> Iterator[Finding]:
    if not entries:
        return
    vectors = shared_encoder().encode(
        [entry.description or spoken(entry.name) for entry in entries]
    )
    likeness = vectors @ vectors.T
    for row, one in enumerate(entries):
        for column in range(row + 1, len(entries)):
            other = entries[column]
            if one.client != other.client or likeness[row, column] < SAME_MEANING:
                continue
            yield Finding(
                "same", (one.name, other.name), _where(one),
                f"'{one.name}' and '{other.name}' say the same ({likeness[row, column]:.2f})",
                f"merge them, or say what only {other.path or other.name} does",
            )  # fmt: skip


def _unreached(activator: Activator) -> Iterator[Finding]:
    """Entries that their own description does not reach: another one is always nearer."""
    names = {entry.name for entry in activator.entries}
    if len(names) < 2:
        return
    for entry in activator.entries:
        asked = [
            text for text in sentences_of(entry.description) if not words().exclusion.search(text)
        ]
        ranked = [activator.suggest(text).ranked for text in asked[:3] or [spoken(entry.name)]]
        first = [told[0][0] for told in ranked if told]
        if first and entry.name not in first:
            yield Finding(
                "unreached", (entry.name, first[0]), _where(entry),
                f"a prompt in the words of '{entry.name}' finds '{first[0]}'",
                "name what only it does, in the words that a user would type",
            )  # fmt: skip


def _description(entry: Entry) -> Iterator[Finding]:
    limit = DESCRIPTION_LIMITS.get(entry.client)
    if len(set(terms_of(entry.description))) < SHORT_WORDS:
        yield Finding(
            "short", (entry.name,), _where(entry),
            f"the description of '{entry.name}' says little: {entry.description[:60]!r}",
            "say what it does and when to use it: 'Use when ...'",
        )  # fmt: skip
    elif limit and len(entry.description) > limit:
        yield Finding(
            "long", (entry.name,), _where(entry),
            f"the description of '{entry.name}' has {len(entry.description):,} characters,"
            f" of which the model sees {limit:,}",
            "say when to use it first, and move the rest into the body",
        )  # fmt: skip


def _over_budget(entries: Sequence[Entry]) -> Iterator[Finding]:
    for client, budget in LISTING_BUDGETS.items():
        listed = [
            one for one in entries
            if one.client == client and one.suggested and one.kind == "skill"
        ]  # fmt: skip
        size = sum(map(_characters, listed))
        if size > budget:
            longest = sorted(listed, key=_characters, reverse=True)[:3]
            yield Finding(
                "budget", tuple(one.name for one in longest), client,
                f"the listing for {client} has {size:,} characters, {budget:,} are shown",
                "shorten the longest: " + ", ".join(one.name for one in longest),
            )  # fmt: skip


def _where(entry: Entry) -> str:
    return str(entry.path or Path(entry.name))
