"""What the tests of the router share: the packaged prompts, and a model fitted on them once."""

import pytest

from kds.router.intent_model import IntentModel
from kds.router.library import PromptLibrary


@pytest.fixture(scope="session")
def library() -> PromptLibrary:
    return PromptLibrary.load()


@pytest.fixture(scope="session")
def packaged_model(library: PromptLibrary) -> IntentModel:
    return IntentModel.fit(library.agents())
