import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.errors import KdsError
from kds.router.intents import model_cache
from kds.router.intents.lessons import lessons, lessons_key
from kds.router.intents.model import IntentModel
from kds.router.intents.model_cache import KEPT, cache_key, dump, open_model, shipped_model, undump
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern, PromptFile

MESSAGES = ("Make it purple", "continue", "where were we?", "asdf", "", "commit and push", "日本語")


@pytest.fixture(scope="module")
def few(library: PromptLibrary) -> tuple[PromptFile, ...]:
    """Agents with a handful of examples each: quick to fit."""
    return tuple(replace(prompt, examples=prompt.examples[:6]) for prompt in library.agents())


@pytest.fixture(scope="module")
def small(few: tuple[PromptFile, ...]) -> IntentModel:
    return IntentModel.fit(few)


def test_what_was_stored_routes_as_what_was_fitted(
    few: tuple[PromptFile, ...], tmp_path: Path
) -> None:
    fitted, loaded = open_model(few, tmp_path), open_model(few, tmp_path)
    assert (fitted.fitted, loaded.fitted) == (True, False)
    assert (fitted.warnings, loaded.warnings) == ((), ())
    for message in MESSAGES:
        assert loaded.model.score(message) == fitted.model.score(message)


def test_two_fits_give_the_same_bytes(few: tuple[PromptFile, ...], small: IntentModel) -> None:
    again = IntentModel.fit(few)
    assert np.array_equal(again.learned.weights, small.learned.weights)
    assert again.learned.calibrator.weights.tolist() == small.learned.calibrator.weights.tolist()
    assert again.learned.mix == small.learned.mix


def test_the_file_is_for_its_owner_alone(few: tuple[PromptFile, ...], tmp_path: Path) -> None:
    open_model(few, tmp_path / "cache")
    (file,) = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [b"", b"not a zip", b"PK\x03\x04 torn"])
def test_a_damaged_file_is_set_aside_and_the_model_fitted_anew(
    few: tuple[PromptFile, ...], tmp_path: Path, damage: bytes
) -> None:
    open_model(few, tmp_path)
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(damage)
    opened = open_model(few, tmp_path)
    assert opened.fitted
    assert "set aside" in opened.warnings[0]
    assert file.with_suffix(".bad").read_bytes() == damage
    assert not open_model(few, tmp_path).fitted


def test_a_model_that_somebody_else_fitted_is_not_believed(
    few: tuple[PromptFile, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_model(few, tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another home"))
    assert open_model(few, tmp_path).warnings[0].endswith("set aside, fitted anew")
    assert open_model(few, tmp_path).warnings == ()


@given(share=st.floats(0.0, 1.0, exclude_max=True))
@settings(max_examples=30)
def test_half_a_file_is_never_read_as_a_model(small: IntentModel, share: float) -> None:
    whole = dump(small.learned)
    with pytest.raises(ValueError, match="not a model cache"):
        undump(whole[: int(share * len(whole))])


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, header=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"not a model cache|pickle"):
        undump(path.read_bytes())


def test_a_folder_that_cannot_be_written_costs_only_time(
    few: tuple[PromptFile, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    opened = open_model(few, tmp_path / "file" / "cache")
    assert opened.fitted
    assert opened.model.score("commit this").intent == "COMMIT"
    assert any("cannot be kept" in warning for warning in opened.warnings)


def test_the_key_changes_with_examples_and_patterns(few: tuple[PromptFile, ...]) -> None:
    key = cache_key(*lessons(few))
    assert key == cache_key(*lessons(tuple(reversed(few))))
    more = (replace(few[0], examples=(*few[0].examples, "one more")), *few[1:])
    other_weight = replace(few[0].patterns[0], weight=0.123)
    heavier = (replace(few[0], patterns=(other_weight, *few[0].patterns[1:])), *few[1:])
    assert len({key, cache_key(*lessons(more)), cache_key(*lessons(heavier))}) == 3


def test_only_the_last_few_models_are_kept(few: tuple[PromptFile, ...], tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        (tmp_path / f"intents-{number}.npz").write_bytes(b"older")
    open_model(few, tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == KEPT


def test_the_model_that_ships_is_that_of_the_packaged_prompts(library: PromptLibrary) -> None:
    shipped = shipped_model()
    assert shipped is not None
    assert shipped.key == lessons_key(*lessons(library.prompts())), "run `make model`"


def test_the_model_that_ships_can_be_made_again(library: PromptLibrary) -> None:
    opened = open_model(library.prompts())
    assert not opened.fitted
    made = IntentModel.fit(library.agents())
    for message in MESSAGES:
        again, ours = made.score(message), opened.model.score(message)
        assert (again.intent, again.confidence) == (ours.intent, pytest.approx(ours.confidence))


def test_other_patterns_need_no_other_model(library: PromptLibrary) -> None:
    first, *others = library.agents()
    pattern = Pattern.literal("zorble it", where="x:1", exact=True)
    mine = replace(first, patterns=(IntentPattern("zorble it", pattern, 1.0, True, "x:1"),))
    opened = open_model([mine, *others])
    assert not opened.fitted
    assert opened.model.score("zorble it").intent == first.intent


@pytest.fixture(scope="module")
def grown(library: PromptLibrary) -> IntentModel:
    """The model of the packaged prompts with a few examples more, on top of the one that ships."""
    more = tuple(f"stash {what}" for what in ("this", "it for later", "my edits"))
    prompts = [
        replace(one, examples=(*one.examples, *more)) if one.intent == "COMMIT" else one
        for one in library.prompts()
    ]
    return open_model(prompts).model


def test_own_examples_are_learned_on_top_of_the_model_that_ships(
    grown: IntentModel, packaged_model: IntentModel
) -> None:
    assert grown.learned.calibrator is shipped_model().calibrator  # type: ignore[union-attr]
    assert grown.score("stash my edits").intent == "COMMIT"
    told = {"I want to add a search bar": "PLAN", "run the tests": "TEST", "where was I?": "RESUME"}
    assert {message: grown.score(message).intent for message in told} == told
    assert all(packaged_model.score(message).intent == intent for message, intent in told.items())


def test_a_new_intent_is_learned_on_top_of_the_model_that_ships(library: PromptLibrary) -> None:
    agents = library.agents()
    brew = replace(
        next(one for one in agents if one.intent == "METRICS"),
        intent="BREW",
        patterns=(),
        needs=(),
        examples=tuple(f"brew {what}" for what in ("a coffee", "some tea", "coffee for two")),
    )
    assert open_model([*agents, brew]).model.score("brew a pot of coffee").intent == "BREW"


def test_what_has_little_to_do_with_the_packaged_prompts_is_fitted_from_nothing(
    few: tuple[PromptFile, ...],
) -> None:
    assert open_model(few).model.learned.calibrator is not shipped_model().calibrator  # type: ignore[union-attr]


def test_a_damaged_model_of_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "intents.npz").write_bytes(b"torn")
    monkeypatch.setattr(model_cache, "SHIPPED", tmp_path / "intents.npz")
    shipped_model.cache_clear()
    with pytest.raises(KdsError, match="damaged"):
        shipped_model()
    shipped_model.cache_clear()


def test_neither_a_shipped_nor_a_cached_model_needs_scikit_learn(
    few: tuple[PromptFile, ...], tmp_path: Path
) -> None:
    open_model(few, tmp_path)
    code = (
        "import sys; from dataclasses import replace; from pathlib import Path\n"
        "from kds.router.prompts.library import PromptLibrary\n"
        "from kds.router.intents.model_cache import open_model\n"
        "agents = PromptLibrary.load().agents()\n"
        "few = [replace(one, examples=one.examples[:6]) for one in agents]\n"
        f"opened = [open_model(agents), open_model(few, Path({str(tmp_path)!r}))]\n"
        "assert all(one.model.score('commit this').intent == 'COMMIT' for one in opened)\n"
        "print([one.fitted for one in opened], 'sklearn' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[False, False] False False", done.stderr
