import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.context.names import SLUG_LIMIT, session_id, slug
from kds.brain.secrets.redaction import storable


@pytest.mark.parametrize(
    ("feature", "name"),
    [
        ("the FAB button", "fab-button"),
        ("a dark mode for an app", "dark-mode-for-app"),
        ("Crème brûlée", "creme-brulee"),
        ("Straße nach Łódź", "strasse-nach-lodz"),
        ("the user's profile", "users-profile"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\temp\\x", "c-temp-x"),
        ("the a an", "session"),
        ("🎨", "session"),
        # a long name is cut between words, a single long word where it must
        ("import wizard for quarterly reports of banks", "import-wizard-for-quarterly-reports-of"),
        ("x" * 200, "x" * SLUG_LIMIT),
    ],
)
def test_a_feature_is_named_by_its_words(feature: str, name: str) -> None:
    assert slug(feature) == name


@given(st.text())
@example("SK:000000")
def test_every_name_is_safe_in_a_path_and_survives_redaction(feature: str) -> None:
    name = slug(feature)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= SLUG_LIMIT
    full = session_id(feature, datetime(2025, 11, 3, tzinfo=UTC))
    assert storable(full) == full
