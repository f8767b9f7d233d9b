"""What a service notes of each workspace: how its last reload and its embedding went."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Reload:
    """How often prompts and rules were read anew, when last, and what is wrong with them now."""

    count: int = 0
    at: datetime | None = None
    error: str | None = None


@dataclass(slots=True)
class EmbeddingRecord:
    """What the background embedding has done since the service began."""

    embedded: int = 0
    failures: int = 0
    last_error: str | None = None
    """None when it works."""
