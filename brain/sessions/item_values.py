"""What agents keep beside conversations: values under a key in a namespace."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Namespace = tuple[str, ...]
"""Labels from the outermost inwards; none of them empty."""


@dataclass(frozen=True, slots=True)
class Item:
    """A value under its key. Secrets in its texts are replaced by marks."""

    namespace: Namespace
    key: str
    value: Mapping[str, object]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ItemText:
    """A text of an item that waits for its vector."""

    id: int
    text: str
