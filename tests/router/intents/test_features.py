import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.intents import features
from kds.router.intents.features import (
    KIND_WEIGHTS,
    MAX_CHARS,
    MAX_PAIRED,
    TURN_PLACES,
    WIDTH,
    WORD_PLACES,
    Place,
    readable,
    stems,
    terms,
    turn_signs,
    turn_vector,
    vectors,
)

PLACE = Place(3, "EXECUTE", answered=True)


@pytest.mark.parametrize("text", ["Make it purple", "", "?", "日本語のテキスト", "x" * 5000])
def test_any_text_has_words_of_unit_length_and_a_meaning(text: str) -> None:
    (row,) = vectors([text])
    assert row.shape == (WIDTH,)
    words, meaning = row[:WORD_PLACES], row[WORD_PLACES:]
    assert np.linalg.norm(words) == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.norm(meaning) == pytest.approx(features.ENCODER_WEIGHT, abs=1e-4)


def test_without_an_encoder_the_words_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vectors(["run the tests"])
    monkeypatch.setattr(features.shared_encoder(), "available", False)
    alone = vectors(["run the tests"])
    assert np.array_equal(alone[:, :WORD_PLACES], whole[:, :WORD_PLACES])
    assert not alone[:, WORD_PLACES:].any()


def test_short_forms_are_written_out_and_numbers_are_alike() -> None:
    assert stems("What's due in 14 days?") == stems("what is due in 30 days?")


def test_words_for_the_same_thing_share_a_concept() -> None:
    assert terms("purchase")["concepts"].keys() & terms("buying")["concepts"].keys()
    assert not terms("zebra")["concepts"]


def test_pairs_do_not_grow_with_the_text_for_ever() -> None:
    text = " ".join(f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300))
    assert len(terms(text)["pairs"]) == MAX_PAIRED * (MAX_PAIRED - 1) // 2


@given(st.text(max_size=100))
def test_every_kind_of_term_is_counted(text: str) -> None:
    found = terms(text)
    assert tuple(found) == tuple(KIND_WEIGHTS)
    assert all(count >= 1 for counts in found.values() for count in counts.values())


def test_a_long_text_is_read_at_its_start_and_its_end() -> None:
    text = "first words " + "x" * 100_000 + " last words"
    shown = readable(text)
    assert len(shown) <= MAX_CHARS + 1
    assert shown.startswith("first words")
    assert shown.endswith("last words")


def test_code_blocks_are_left_out_unless_they_are_all_there_is() -> None:
    assert "secret" not in readable("fix this ```secret()``` now")
    assert readable("```only()```") == "```only()```"


def test_signs_tell_where_a_message_stands() -> None:
    assert "previous PLAN" in turn_signs("ok", Place(1, "PLAN"))
    assert "trace" in turn_signs("Traceback (most recent call last):", PLACE)
    assert "file" in turn_signs("look at @src/app.py", PLACE)


@pytest.mark.parametrize(
    "message",
    ["ERR! code ELIFECYCLE", "error TS2345: no", "error[E0382]: borrow of moved value", "panic: x"],
)
def test_an_error_with_its_code_is_a_trace(message: str) -> None:
    assert "trace" in turn_signs(message, PLACE)


@given(st.text(max_size=300), st.integers(0, 50), st.sampled_from([None, "PLAN", "X"]))
def test_any_message_has_a_turn_vector(message: str, earlier: int, previous: str | None) -> None:
    ids, values = turn_vector(message, Place(earlier, previous))
    assert np.isfinite(values).all()
    assert len(ids) == len(set(ids.tolist()))
    assert not len(ids) or int(ids.max()) < TURN_PLACES
