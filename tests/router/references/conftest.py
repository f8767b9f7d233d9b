"""The packaged prompts and rules, loaded once."""

import pytest

from kds.api.parts import Parts
from kds.brain.workspace import Workspace


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return Parts.load(Workspace.at(tmp_path_factory.mktemp("packaged")))
