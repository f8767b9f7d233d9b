"""The user's profile in SQLite: kept and used with consent only, and wiped without.

The audit log (`consent_event`) says when consent was given and withdrawn and each time the
profile was changed or used, and for what; never what it says.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.records import Consent, ConsentAction, ConsentEvent, Profile
from kds.brain.memory.summaries import alike
from kds.brain.passages.details import PROFILE_MARK, without_profile
from kds.brain.passages.question import Question
from kds.brain.passages.recall import Vector
from kds.brain.passages.store import Embedder
from kds.brain.store.columns import from_micros, json_column, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.maintenance import note_scrub, wipe
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

_NAMED: Final = ("languages", "frameworks")
"""Lists of which a message may name those that count for it."""

_FITTING: Final = ("goals", "domain", "about", "name")
"""Fields that only count for a message which shares a word with them."""


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
            _wipe_in_details(connection)
            self._log(connection, "revoked", "")
            note_scrub(self.database, connection)
            consent = _consent(connection)
        wipe(self.database, set_aside_too=True)
        return consent

    def use(self, purpose: str) -> Profile | None:
        """Return the profile and log the use; None without consent."""
        if not self.consent().given:
            return None
        with self.database.write() as connection:
            if not _consent(connection).given:
                return None
            self._log(connection, "used", purpose)
            rows = connection.execute("SELECT field, value FROM profile").fetchall()
        return _profile({field: json_column(value) for field, value in rows})

    @property
    def is_set(self) -> bool:
        """Whether there is a profile, and the consent to use it."""
        with self.database.read() as connection:
            found = connection.execute("SELECT 1 FROM profile LIMIT 1").fetchone()
            return found is not None and _consent(connection).given

    def save(self, profile: Profile) -> Profile:
        """Replace the profile. Raises StoreError without consent."""
        found = _fields(profile)
        with self.database.write() as connection:
            self._require(connection)
            _wipe(connection)
            connection.executemany(
                "INSERT INTO profile(field, value) VALUES (?, ?)",
                [(field, json.dumps(value, ensure_ascii=False)) for field, value in found.items()],
            )
            self._log(connection, "changed", ", ".join(found))
        return _profile(found)

    def embed(self, embedder: Embedder) -> None:
        """Keep the vector of each line of the profile; revoking the consent wipes them.

        Raises StoreError without consent or for unusable vectors, and what the model raises.
        """
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

        lines = self._lines()
        found = dict(zip(lines, embedder.embed_documents(list(lines.values())), strict=True))
        _, blobs = to_blobs(found, where=self.database.place)
        with self.database.write() as connection:
            self._require(connection)
            connection.execute("DELETE FROM profile_vector")
            connection.executemany(
                "INSERT INTO profile_vector(model, field, f16) VALUES (?, ?, ?)",
                [(embedder.name, field, blob) for field, blob in blobs.items()],
            )

    def matching(
        self, question: Question, purpose: str, *, vector: Vector | None = None
    ) -> tuple[str, ...]:
        """Return the lines that a question is about, and log the use; none without consent.

        By words, and with the ``vector`` of the question by meaning (cosine of ALIKE or more).
        """
        profile = self.use(purpose) if self.is_set else None
        if profile is None:
            return ()
        lines = profile_lines(profile)
        near = self._near(vector) if vector is not None else frozenset()
        named = matching_lines(profile, question)
        return tuple(line for field, line in lines.items() if line in named or field in near)

    def _near(self, vector: Vector) -> frozenset[str]:
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT field, f16 FROM profile_vector WHERE model = ?", (vector.model,)
            ).fetchall()
        found = alike(vector.values, rows, where=self.database.place)
        return frozenset(field for field, _ in found)

    def _lines(self) -> dict[str, str]:
        with self.database.read() as connection:
            rows = connection.execute("SELECT field, value FROM profile").fetchall()
        return profile_lines(_profile({field: json_column(value) for field, value in rows}))

    def events(self) -> tuple[ConsentEvent, ...]:
        """Return the audit log, oldest first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT at, action, purpose FROM consent_event ORDER BY num"
            ).fetchall()
        return tuple(ConsentEvent(from_micros(at), action, text) for at, action, text in rows)

    def _log(self, connection: Connection, action: ConsentAction, purpose: str) -> None:
        now = to_micros(self.database.clock())
        text = " ".join(kept_text(purpose).split())[:PURPOSE_LIMIT]
        connection.execute(
            "INSERT INTO consent_event(at, action, purpose) VALUES (?, ?, ?)", (now, action, text)
        )

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


def _wipe_in_details(connection: Connection) -> None:
    """Take the lines that stood in prompts out of what is kept of the turns."""
    rows = connection.execute(
        "SELECT num, details FROM message WHERE details LIKE ?", (f"%{PROFILE_MARK}%",)
    ).fetchall()
    connection.executemany(
        "UPDATE message SET details = ? WHERE num = ?",
        [(without_profile(text), number) for number, text in rows],
    )


def _consent(connection: Connection) -> Consent:
    row = connection.execute(
        "SELECT at, action, purpose FROM consent_event "
        "WHERE action IN ('granted', 'revoked') ORDER BY num DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return Consent(given=False)
    return Consent(given=row[1] == "granted", since=from_micros(row[0]), purpose=row[2])


def _fields(profile: Profile) -> dict[str, object]:
    """Return what is set, as it may be stored."""
    found = {one.name: _storable(getattr(profile, one.name)) for one in fields(profile)}
    return {field: value for field, value in found.items() if value}


def _storable(value: object) -> object:
    if isinstance(value, Mapping):
        return {kept_text(key).strip(): kept_text(one).strip() for key, one in value.items()}
    if isinstance(value, tuple):
        return [kept_text(one).strip() for one in value if one.strip()]
    return kept_text(str(value)).strip()


def _profile(stored: Mapping[str, object]) -> Profile:
    known = {one.name for one in fields(Profile)}  # a newer KDS may keep more
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in known
    }
    return Profile(**values)


def profile_lines(profile: Profile) -> dict[str, str]:
    """Return the fields that are set, each as one line, in the order of LABELS.

    >>> profile_lines(Profile(role="SRE", preferences={"tests": "pytest"}))
    {'role': 'Role: SRE', 'preferences': 'Preferences: tests=pytest'}
    """
    texts = {field: _told(getattr(profile, field)) for field in LABELS}
    return {field: f"{LABELS[field]}: {text}" for field, text in texts.items() if text}


def fitting_lines(
    profile: Profile, message: str, *, count: TokenCounter, limit_tokens: int = PROFILE_TOKENS
) -> tuple[str, ...]:
    """Return the lines of the profile that fit a message, within ``limit_tokens``.

    How to answer (role, style, constraints, preferences) counts for every message; of languages
    and frameworks those that the message names, if it names any; all else where it shares a
    content word with the message.
    """
    asked = content_stems(message)
    for field in _NAMED:
        named = tuple(one for one in getattr(profile, field) if content_stems(one) & asked)
        if named:
            profile = profile.with_field(field, named)
    kept: list[str] = []
    for field, line in profile_lines(profile).items():
        said = line.partition(": ")[2]
        fits = field not in _FITTING or content_stems(said) & asked
        if fits and count("\n".join((*kept, line))) <= limit_tokens:
            kept.append(line)
    return tuple(kept)


def matching_lines(profile: Profile, question: Question) -> tuple[str, ...]:
    """Return the lines of the profile that share a content word with a question.

    >>> from kds.brain.passages.question import read_question
    >>> matching_lines(Profile(role="SRE", domain="payments"), read_question("which payments?"))
    ('Domain: payments',)
    """
    asked = {one for term in question.terms for one in term.stems}
    lines = profile_lines(profile).values()
    return tuple(line for line in lines if content_stems(line.partition(": ")[2]) & asked)


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    words = (word.casefold() for word in WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in EMPTY_WORDS)


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)
