"""The user's profile: kept and used with consent only, and wiped without.

The audit log (`consent_event`) says when consent was given and withdrawn and each time the
profile was changed or used, and for what; never what it says.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal

from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.summaries import alike
from kds.brain.passages.details import PROFILE_MARK, without_profile
from kds.brain.passages.question import Question
from kds.brain.passages.recall import Vector
from kds.brain.passages.store import Embedder, insert
from kds.brain.store.columns import from_micros, json_column, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.words.terms import EMPTY_WORDS, WORD, TokenCounter, stem

PROFILE_TOKENS: Final = 200
"""Of the profile in one prompt at most."""

PURPOSE_LIMIT: Final = 200
"""Characters of a purpose in the audit log."""

LABELS: Final[Mapping[str, str]] = {
    "role": "Role",
    "languages": "Languages",
    "frameworks": "Frameworks",
    "style": "Style of answers",
    "constraints": "Constraints",
    "preferences": "Preferences",
    "goals": "Goals",
    "domain": "Domain",
    "about": "Notes",
    "name": "Name",
}
"""What the fields of the profile are called, the most useful first."""

_FITTING: Final = ("goals", "domain", "about", "name")
"""Fields that only count for a message which shares a word with them."""

ConsentAction = Literal["granted", "revoked", "changed", "used"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the user told about themselves: structured fields and free text, all optional."""

    name: str = ""
    role: str = ""
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    style: str = ""
    """How answers are to be written: "short, with the command first"."""
    goals: str = ""
    domain: str = ""
    constraints: str = ""
    """What always holds: "Python 3.11, no new dependencies"."""
    preferences: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    """Free text."""

    def with_field(self, field: str, value: object) -> "Profile":
        """Return the same with another value of one field."""
        changed: dict[str, Any] = {field: value}
        return replace(self, **changed)


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
class ProfileTable:
    """The tables of the profile and of consent."""

    database: Engine

    def consent(self) -> Consent:
        """Return whether consent stands; it is off until it was given."""
        with self.database.read() as connection:
            return _consent(connection)

    def grant(self, purpose: str) -> Consent:
        """Note the user's consent, which is to something. Raises MessageError without a purpose."""
        if not purpose.strip():
            hint = "say what the profile is for, for example: answers that suit me"
            raise MessageError("consent needs a purpose", where="purpose", hint=hint)
        with self.database.write() as connection:
            self._log(connection, "granted", purpose)
            return _consent(connection)

    def revoke(self) -> Consent:
        """Withdraw consent: wipes profile and vectors, and their bytes from every file."""
        with self.database.write() as connection:
            _wipe(connection)
            # Lines that stood in prompts are taken out of what is kept of the turns, too.
            query = "SELECT num, details FROM message WHERE details LIKE ?"
            rows = connection.execute(query, (f"%{PROFILE_MARK}%",)).fetchall()
            bare = [(without_profile(text), number) for number, text in rows]
            connection.executemany("UPDATE message SET details = ? WHERE num = ?", bare)
            self._log(connection, "revoked", "")
            self.database.leaves_bytes(connection)
            consent = _consent(connection)
        self.database.wipe()
        return consent

    @property
    def is_set(self) -> bool:
        """Whether there is a profile, and the consent to use it."""
        with self.database.read() as connection:
            found = connection.execute("SELECT 1 FROM profile LIMIT 1").fetchone()
            return found is not None and _consent(connection).given

    def use(self, purpose: str) -> Profile | None:
        """Return the profile and log the use; None without consent."""
        if not self.consent().given:
            return None
        with self.database.write() as connection:
            if not _consent(connection).given:
                return None
            self._log(connection, "used", purpose)
            return _stored(connection)

    def save(self, profile: Profile) -> Profile:
        """Replace the profile. Raises StoreError without consent."""
        found = {one.name: _storable(getattr(profile, one.name)) for one in fields(profile)}
        kept = {name: value for name, value in found.items() if value}
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in kept.items()]
        with self.database.write() as connection:
            self._require(connection)
            _wipe(connection)
            insert(connection, "profile", "field, value", rows)
            self._log(connection, "changed", ", ".join(kept))
            return _stored(connection)

    def embed(self, embedder: Embedder) -> None:
        """Keep the vector of each line of the profile; revoking the consent wipes them.

        Raises StoreError without consent or for unusable vectors, and what the model raises.
        """
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

        with self.database.read() as connection:
            lines = profile_lines(_stored(connection))
        found = dict(zip(lines, embedder.embed_documents(list(lines.values())), strict=True))
        _, blobs = to_blobs(found, where=self.database.place)
        rows = [(embedder.name, name, blob) for name, blob in blobs.items()]
        with self.database.write() as connection:
            self._require(connection)
            connection.execute("DELETE FROM profile_vector")
            insert(connection, "profile_vector", "model, field, f16", rows)

    def matching(
        self, question: Question, purpose: str, *, vector: Vector | None = None
    ) -> tuple[str, ...]:
        """Return the lines that a question is about, and log the use; none without consent.

        By words, and with the ``vector`` of the question by meaning (cosine of ALIKE or more).
        """
        profile = self.use(purpose) if self.is_set else None
        if profile is None:
            return ()
        asked = {one for term in question.terms for one in term.stems}
        near = self._near(vector) if vector is not None else ()
        return tuple(
            line
            for name, line in profile_lines(profile).items()
            if name in near or _is_about(line, asked)
        )

    def _near(self, vector: Vector) -> Iterable[str]:
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT field, f16 FROM profile_vector WHERE model = ?", (vector.model,)
            ).fetchall()
        return [name for name, _ in alike(vector.values, rows, where=self.database.place)]

    def events(self) -> tuple[ConsentEvent, ...]:
        """Return the audit log, oldest first."""
        query = "SELECT at, action, purpose FROM consent_event ORDER BY num"
        with self.database.read() as connection:
            rows = connection.execute(query).fetchall()
        return tuple(ConsentEvent(from_micros(at), action, text) for at, action, text in rows)

    def _log(self, connection: Connection, action: ConsentAction, purpose: str) -> None:
        text = " ".join(kept_text(purpose).split())[:PURPOSE_LIMIT]
        row = (to_micros(self.database.clock()), action, text)
        insert(connection, "consent_event", "at, action, purpose", [row])

    def _require(self, connection: Connection) -> None:
        if not _consent(connection).given:
            raise StoreError(
                "there is no consent to keep a profile",
                where=self.database.place,
                hint="give it first: kds memory consent grant",
            )


def _wipe(connection: Connection) -> None:
    connection.execute("DELETE FROM profile")
    connection.execute("DELETE FROM profile_vector")


def _consent(connection: Connection) -> Consent:
    row = connection.execute(
        "SELECT at, action, purpose FROM consent_event "
        "WHERE action IN ('granted', 'revoked') ORDER BY num DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return Consent(given=False)
    return Consent(given=row[1] == "granted", since=from_micros(row[0]), purpose=row[2])


def _storable(value: object) -> object:
    if isinstance(value, Mapping):
        return {kept_text(key).strip(): kept_text(one).strip() for key, one in value.items()}
    if isinstance(value, tuple):
        return [kept_text(one).strip() for one in value if one.strip()]
    return kept_text(str(value)).strip()


def _stored(connection: Connection) -> Profile:
    known = {one.name for one in fields(Profile)}  # a newer KDS may keep more
    rows = connection.execute("SELECT field, value FROM profile").fetchall()
    found: dict[str, Any] = {name: json_column(text) for name, text in rows if name in known}
    for name, one in found.items():
        found[name] = tuple(one) if isinstance(one, list) else one
    return Profile(**found)


def profile_lines(profile: Profile) -> dict[str, str]:
    """Return the fields that are set, each as one line, in the order of LABELS.

    >>> profile_lines(Profile(role="SRE", preferences={"tests": "pytest"}))
    {'role': 'Role: SRE', 'preferences': 'Preferences: tests=pytest'}
    """
    texts = {name: _told(getattr(profile, name)) for name in LABELS}
    return {name: f"{LABELS[name]}: {text}" for name, text in texts.items() if text}


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def fitting_lines(profile: Profile, message: str, *, count: TokenCounter) -> tuple[str, ...]:
    """Return the lines of the profile that fit a message, within PROFILE_TOKENS.

    The fields in _FITTING count where they share a content word with the message, the others (role,
    languages, style, ...) for every message.
    """
    asked = content_stems(message)
    kept: list[str] = []
    for name, line in profile_lines(profile).items():
        fits = name not in _FITTING or _is_about(line, asked)
        if fits and count("\n".join((*kept, line))) <= PROFILE_TOKENS:
            kept.append(line)
    return tuple(kept)


def _is_about(line: str, asked: Iterable[str]) -> bool:
    return not content_stems(line.partition(": ")[2]).isdisjoint(asked)


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    words = (word.casefold() for word in WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in EMPTY_WORDS)
