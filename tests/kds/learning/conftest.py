"""What was kept of what was learned, wherever that is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kds.brain.files import LockedText
from kds.brain.learning.events import FILE_NAME as EVENTS
from kds.brain.learning.examples import FILE_NAME as LEARNED
from kds.brain.workspace import Workspace, open_texts


@pytest.fixture
def place(fitted_workspace: Path, either_engine: str) -> Workspace:
    """A workspace that keeps what it learns in files, and then one that does on a server."""
    return Workspace.find(environ={"KDS_HOME": str(fitted_workspace)})


@pytest.fixture
def learned(place: Workspace) -> LockedText:
    return open_texts(place)(LEARNED)


@pytest.fixture
def kept(place: Workspace, learned: LockedText) -> Callable[[], object]:
    """Says what is kept of what was said."""
    return lambda: (learned.read(), open_texts(place)(EVENTS).read())
