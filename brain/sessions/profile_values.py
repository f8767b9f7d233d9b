"""The user's profile and the record of their consent: frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

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
