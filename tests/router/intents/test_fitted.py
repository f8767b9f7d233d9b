import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kds.brain.errors import KdsError
from kds.router.intents.examples import examples_of, fingerprints
from kds.router.intents.fitted import dump, open_model, read_shipped, shipped_model, undump
from kds.router.intents.model import IntentModel
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern, PromptFile

MESSAGES = ("Make it purple", "continue", "where were we?", "asdf", "", "commit and push", "日本語")


@pytest.fixture(scope="module")
def small(library: PromptLibrary) -> IntentModel:
    """Of agents with a handful of examples each: quick to fit."""
    return IntentModel.fit(
        [one.model_copy(update={"examples": one.examples[:6]}) for one in library.agents()]
    )


def test_what_is_written_is_what_was_fitted(small: IntentModel) -> None:
    again = replace(small, learned=undump(dump(small.learned)))
    for message in MESSAGES:
        read, fitted = again.score(message), small.score(message)
        assert read.intent == fitted.intent
        assert read.confidence == pytest.approx(fitted.confidence, abs=0.01)  # half precision


def test_a_damaged_model_of_the_package_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, header=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for content in (b"torn", path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(KdsError, match="damaged"):
            read_shipped(path, undump)
    assert read_shipped(tmp_path / "none.npz", undump) is None


def test_the_model_that_ships_is_that_of_the_packaged_prompts(library: PromptLibrary) -> None:
    shipped = shipped_model()
    assert shipped is not None
    examples, _ = examples_of(library.prompts())
    assert np.array_equal(shipped.taught, fingerprints(examples)), "run `make model`"


def test_other_patterns_need_no_other_model(library: PromptLibrary) -> None:
    first, *others = library.agents()
    pattern = Pattern.literal("zorble it", where="x:1", exact=True)
    patterns = (IntentPattern("zorble it", pattern, 1.0, True, "x:1"),)
    model = open_model([first.model_copy(update={"patterns": patterns}), *others])
    assert model.learned is shipped_model()
    assert model.score("zorble it").intent == first.intent


DEPLOYS = (
    "deploy this to production",
    "ship the build to the staging server",
    "push the release live",
    "deploy the api to the cluster",
    "publish the new version to prod",
    "put the app on the test environment",
)


@pytest.fixture(scope="module")
def deploying(library: PromptLibrary) -> IntentModel:
    """The packaged agents and one with six examples."""
    deployer = PromptFile.model_construct(
        name="deployer",
        intent="DEPLOY",
        description="Deploy the app to staging or production",
        examples=DEPLOYS,
    )
    return open_model([*library.agents(), deployer])


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("roll it out to staging first", "DEPLOY"),
        ("can you get this onto prod", "DEPLOY"),
        ("deploy", "DEPLOY"),
        ("commit and push it", "COMMIT"),
        ("run the tests", "TEST"),
        ("make the button purple", "EXECUTE"),
        ("deploying fails with exit 1", "DEBUG"),
        ("Will it rain tomorrow?", "UNKNOWN"),
    ],
)
def test_an_added_intent_is_known_to_the_whole_model(
    deploying: IntentModel, message: str, intent: str
) -> None:
    assert deploying.score(message).intent == intent


def test_neither_fitting_nor_routing_needs_scipy() -> None:
    code = (
        "import sys; sys.modules |= {'scipy': None, 'sklearn': None}\n"
        "from kds.router.prompts.library import PromptLibrary\n"
        "from kds.router.intents.fitted import open_model\n"
        "agents = PromptLibrary.load().agents()\n"
        "few = [one.model_copy(update={'examples': one.examples[:6]}) for one in agents]\n"
        "print(*(open_model(one).score('commit this').intent for one in (agents, few)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "COMMIT COMMIT", done.stderr
