"""Values that stand beside the conversations in a memory: profile, consent, items of others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Namespace = tuple[str, ...]
"""Labels from the outermost inwards; none of them empty."""

ConsentAction = Literal["granted", "revoked", "changed", "used"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the user told about themselves: structured fields and free text, all optional."""

    name: str = ""
    role: str = ""
    languages: tuple[str, ...] = ()
    preferences: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    """Free text."""


@dataclass(frozen=True, slots=True)
class Consent:
    """Whether the profile may be kept and used; ``since`` the last change, None: never asked."""

    given: bool
    since: datetime | None = None
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class ConsentEvent:
    """A line of the audit log. It never holds what the profile says."""

    at: datetime
    action: ConsentAction
    purpose: str


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
