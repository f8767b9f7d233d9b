"""Names of sessions: the feature as a slug, and the day it was started."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

from kds.brain.secrets.redaction import storable

SLUG_LIMIT: Final = 40
"""Longest slug in characters: a session id must fit a file name and a table column."""

NAMELESS: Final = "session"
"""The slug of a feature that has no Latin letter or digit."""

_ARTICLES: Final = frozenset({"a", "an", "the"})
_APOSTROPHES: Final = re.compile("['’`]")
_WORD: Final = re.compile("[a-z0-9]+")

# Letters that Unicode does not take apart into a base letter and a mark.
_FOLDS: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)


def slug(feature: str) -> str:
    """Name a feature in lower case ASCII words joined by '-', without articles.

    At most SLUG_LIMIT characters, cut between words where there is a cut. Secrets are
    redacted first: a session id is stored and shown.

    >>> slug("the FAB button"), slug("Crème brûlée"), slug("ダークモード")
    ('fab-button', 'creme-brulee', 'session')
    """
    words = [word for word in _WORD.findall(_ascii(storable(feature))) if word not in _ARTICLES]
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:SLUG_LIMIT]
        if len(longer) > SLUG_LIMIT:
            break
        name = longer
    return name or NAMELESS


def session_id(feature: str, at: datetime) -> str:
    """Name the session that starts with ``feature`` at ``at`` (aware): slug and UTC date.

    Raises ValueError when ``at`` has no time zone.

    >>> session_id("FAB button", datetime(2025, 11, 3, 9, 30, tzinfo=UTC))
    'fab-button-20251103'
    """
    if at.tzinfo is None:
        raise ValueError("a session starts at an aware datetime")
    day = at.astimezone(UTC)
    date = f"{day.year:04d}{day.month:02d}{day.day:02d}"
    name = f"{slug(feature)}-{date}"
    # "SK:000000" makes what looks like a key: it would be redacted wherever it is stored
    return name if storable(name) == name else f"{NAMELESS}-{date}"


def _ascii(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_FOLDS))
    folded = _APOSTROPHES.sub("", folded)
    return "".join(char for char in folded if not unicodedata.combining(char))
