"""What was kept of what was learned, wherever that is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kds.brain.kept_text import KeptText, kept_text
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.learned_file import FILE_NAME as LEARNED
from kds.brain.workspace import Workspace


@pytest.fixture
def place(fitted_workspace: Path, either_engine: str) -> Workspace:
    """A workspace that keeps what it learns in files, and then one that does on a server."""
    return Workspace.find(environ={"KDS_HOME": str(fitted_workspace)})


@pytest.fixture
def learned(place: Workspace) -> KeptText:
    return kept_text(place, LEARNED)


@pytest.fixture
def kept(place: Workspace, learned: KeptText) -> Callable[[], object]:
    """Says what is kept of what was said."""
    return lambda: (learned.read(), kept_text(place, EVENTS).read())
