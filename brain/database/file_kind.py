"""What a database file of KDS is: the conversation memory, or the documents beside it.

Both are looked after alike (`database`, `preparation`, `deletion`, `health`); a kind says what
differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of database file."""

    what: str
    """How messages call it: "the memory"."""
    application_id: int
    """Says in the file whose it is."""
    indexes: Mapping[str, str]
    """The full-text indexes by name, and how each is made."""
    rebuild: str
    """The command that puts its index in order."""
