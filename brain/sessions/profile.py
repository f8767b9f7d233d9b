"""The user's profile in SQLite: kept and used with consent only, and wiped without.

The audit log (`consent_event`) says when consent was given and withdrawn and each time the
profile was changed or used, and for what; never what it says.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.deletion import note_scrub, wipe
from kds.brain.database.engine import Connection, Engine
from kds.brain.database.instant import from_micros, to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.errors import StoreError
from kds.brain.sessions.session_values import Consent, ConsentAction, ConsentEvent, Profile

PURPOSE_LIMIT: Final = 200
"""Characters of a purpose in the audit log."""


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """The tables of the profile and of consent."""

    database: Engine

    def consent(self) -> Consent:
        """Return whether consent stands; it is off until it was given."""
        with self.database.read() as connection:
            return _consent(connection)

    def grant(self, purpose: str) -> Consent:
        """Note the user's consent. Raises StoreError without a purpose: consent is to something."""
        if not purpose.strip():
            raise StoreError(
                "consent needs a purpose",
                where=self.database.place,
                hint="say what the profile is for, for example: answers that suit me",
            )
        with self.database.write() as connection:
            self._log(connection, "granted", purpose)
            return _consent(connection)

    def revoke(self) -> Consent:
        """Withdraw consent: wipes profile and vectors, and their bytes from every file."""
        with self.database.write() as connection:
            _wipe(self.database, connection)
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
        return _profile({field: json.loads(value) for field, value in rows})

    def save(self, profile: Profile) -> Profile:
        """Replace the profile. Raises StoreError without consent."""
        fields = _fields(profile)
        with self.database.write() as connection:
            self._require(connection)
            _wipe(self.database, connection)
            connection.executemany(
                "INSERT INTO profile(field, value) VALUES (?, ?)",
                [(field, json.dumps(value, ensure_ascii=False)) for field, value in fields.items()],
            )
            self._log(connection, "changed", ", ".join(fields))
        return _profile(fields)

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


def _wipe(engine: Engine, connection: Connection) -> None:
    connection.execute("DELETE FROM profile")
    if isinstance(engine, Database):
        connection.execute("DELETE FROM profile_vector")  # which an earlier KDS made


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
    found: dict[str, object] = {
        "name": kept_text(profile.name).strip(),
        "role": kept_text(profile.role).strip(),
        "languages": [kept_text(text).strip() for text in profile.languages if text.strip()],
        "preferences": {
            kept_text(key).strip(): kept_text(value).strip()
            for key, value in profile.preferences.items()
        },
        "about": kept_text(profile.about).strip(),
    }
    return {field: value for field, value in found.items() if value}


def _profile(fields: Mapping[str, object]) -> Profile:
    values = dict(fields)
    languages = values.pop("languages", [])
    assert isinstance(languages, list)
    return Profile(languages=tuple(languages), **values)  # type: ignore[arg-type]  # _fields wrote it
