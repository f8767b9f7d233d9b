"""What stands beside the conversations in a memory: profile, terms, figures, items of others.

Values, and protocols as in `memory_store`. Every method raises StoreError with ``where`` and
``hint``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from kds.brain.sessions.session_values import EntityMemory, Metric

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


class ProfileStore(Protocol):
    """What the user wants remembered about themselves. Nothing without consent."""

    def consent(self) -> Consent:
        """Return whether consent stands, and since when."""
        ...

    def grant(self, purpose: str) -> Consent:
        """Note the user's consent."""
        ...

    def revoke(self) -> Consent:
        """Withdraw it: wipes the profile, its vectors and their bytes in every file."""
        ...

    def use(self, purpose: str) -> Profile | None:
        """Return the profile and log that it was used; None without consent."""
        ...

    def save(self, profile: Profile) -> Profile:
        """Replace the profile; returns it as stored. Refused without consent."""
        ...

    def events(self) -> tuple[ConsentEvent, ...]:
        """Return the audit log, oldest first: granted, revoked, changed, used."""
        ...


class EntityStore(Protocol):
    """Entity memories of conversations; each expires ``ttl`` after its last access (4 h)."""

    def load(self, key: str, *, ttl: timedelta | None = None) -> EntityMemory | None:
        """Return a memory, and put its expiry off; None when there is none or it expired."""
        ...

    def note(
        self,
        key: str,
        *,
        terms: Mapping[str, str] | None = None,
        documents: Sequence[str] | None = None,
        sections: Sequence[str] | None = None,
        ttl: timedelta | None = None,
    ) -> EntityMemory:
        """Count a turn; add ``terms`` (term -> snippet), replace what else is not None."""
        ...

    def forget(self, key: str) -> bool:
        """Remove a memory; tells whether there was one."""
        ...

    def expire(self) -> int:
        """Remove what has expired; returns how many memories."""
        ...


class MetricStore(Protocol):
    """Measurements, kept for some days."""

    def add(self, name: str, data: Mapping[str, object], *, at: datetime | None = None) -> None:
        """Store one measurement as JSON; what is too old goes."""
        ...

    def since(self, moment: datetime, *, name: str | None = None) -> tuple[Metric, ...]:
        """Return the measurements from ``moment`` on, oldest first."""
        ...


class ItemStore(Protocol):
    """Values that agents keep under a key in a namespace. Expired ones are never returned."""

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, object],
        *,
        texts: Sequence[str] = (),
        lifetime: timedelta | None = None,
    ) -> Item:
        """Store a value in the place of any before; it is found by ``texts``."""
        ...

    def get(self, namespace: Namespace, key: str, *, refresh: bool = False) -> Item | None:
        """Return an item, and with ``refresh`` put off its expiry."""
        ...

    def delete(self, places: Iterable[tuple[Namespace, str]]) -> int:
        """Remove items and their bytes; returns how many there were."""
        ...

    def under(self, prefix: Namespace = ()) -> tuple[Item, ...]:
        """Return every item under a prefix, the one changed last first."""
        ...

    def namespaces(self) -> tuple[Namespace, ...]:
        """Return every namespace that holds an item, in order."""
        ...

    def refresh(self, items: Iterable[Item]) -> None:
        """Put off the expiry of items that have one."""
        ...

    def search_words(
        self, query: str, prefix: Namespace = ()
    ) -> dict[tuple[Namespace, str], float]:
        """Score the items that share words with ``query``: higher is better."""
        ...

    def search_vectors(
        self, vector: Sequence[float], *, model: str, prefix: Namespace = ()
    ) -> dict[tuple[Namespace, str], float]:
        """Score the items that have vectors of ``model`` by the cosine of their nearest one."""
        ...

    def due(self, model: str, limit: int) -> tuple[ItemText, ...]:
        """Return texts that have no vector of ``model``, those of the latest items first."""
        ...

    def store_vectors(self, model: str, vectors: Mapping[int, Sequence[float]]) -> None:
        """Store vectors by the id of the text; texts that are gone are passed over."""
        ...

    def expire(self) -> int:
        """Remove what has expired, and its bytes; returns how many items."""
        ...
