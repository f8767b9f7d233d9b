"""What was learned, and the work in progress, for `kds db check|stats`."""

from collections.abc import Iterator

from kds.brain.context.work_file import FOLDER
from kds.brain.errors import ConfigError
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import FILE_NAME as LEARNED
from kds.brain.learning.learned_file import LearnedFile
from kds.brain.postgres.texts import PostgresText, texts_of
from kds.brain.shared_database import SharedDatabase


def counts(named: SharedDatabase) -> dict[str, int]:
    """Return how much of it there is. Raises StoreError."""
    found = texts_of(named)
    learned = found.get(LEARNED, b"").splitlines()
    return {
        "learned": sum(line.lstrip().startswith(b"- ") for line in learned),
        "events": len(found.get(EVENTS, b"").splitlines()),
        "work": sum(name.startswith(f"{FOLDER}/") for name in found),
    }


def problems(named: SharedDatabase) -> Iterator[str]:
    """Yield what cannot be read of it; nothing is changed. Raises StoreError."""
    if damaged := EventLog(PostgresText.of(named, EVENTS)).damaged():
        yield f"lines of {EVENTS} that cannot be read: {damaged}; kds learn list sets them aside"
    try:
        LearnedFile(PostgresText.of(named, LEARNED)).entries()
    except ConfigError as error:
        yield f"what was learned is not used: {error.where}: {error.message}"
