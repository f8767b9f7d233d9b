"""A conversation to summarise, and the facts in it as a person would list them."""

from collections.abc import Iterable
from datetime import UTC, datetime

from kds.brain.passages.values import ChunkKind, Message, Passage, Role
from kds.brain.words.terms import estimate_tokens

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)

Pairs = Iterable[tuple[Role, str]]

CONVERSATION: tuple[tuple[Role, str], ...] = (
    (
        "user",
        "Hi! I want to build an export service for the invoices. Maria Lopez from finance needs "
        "it by 14 March 2025, the budget is €12,500.",
    ),
    (
        "assistant",
        "Sure! I suggest two options:\n1. A nightly batch job written in `export_job.py`\n"
        "2. A streaming service with Kafka\n\nThe batch job is simpler. It costs around $300 per "
        "month.\n```python\ndef export(rows):\n    return rows\n```\nLet me know what you think.",
    ),
    (
        "user",
        "We decided to go with the batch job, because the ops team knows cron. Use SQLite instead "
        "of Postgres for the staging table, please.",
    ),
    (
        "assistant",
        "Great, then I'll put it under src/jobs/export_job.py. The run starts at 02:30 every "
        "night and keeps 30 days of files. The API key must never be written to the log.",
    ),
    ("user", "Peter Nguyen reviews it. The ticket is FIN-482."),
    ("assistant", "Noted. I added tests for load_rows(). All 42 tests pass in 1.3 s."),
)

FACTS = (
    *("Maria Lopez", "14 March 2025", "€12,500", "export_job.py", "Kafka", "$300", "SQLite"),
    *("go with the batch job", "instead of Postgres", "src/jobs/export_job.py", "02:30"),
    *("30 days", "API", "never be written to the log", "Peter Nguyen", "FIN-482", "load_rows()"),
    *("42 tests", "1.3 s"),
)
"""Dates, amounts, names, identifiers and the cores of decisions."""


def spoken(pairs: Pairs, *, first_seq: int = 1) -> tuple[Message, ...]:
    """Messages of one session, numbered on."""
    return tuple(
        Message(f"m{seq}", "s", seq, role, content, AT, estimate_tokens(content))
        for seq, (role, content) in enumerate(pairs, start=first_seq)
    )


def passage(number: int, body: str, kind: ChunkKind = "prose", *, speaker: str = "Ann") -> Passage:
    """A passage that a search may find."""
    tokens = estimate_tokens(body)
    return Passage(number, str(number), "s", None, "user", speaker, AT, kind, "", body, "", tokens)
