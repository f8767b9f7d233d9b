"""Texts as vectors."""

import sys
from pathlib import Path

import numpy as np
import pytest

from kds.brain.encoder import (
    DIMENSIONS,
    FOLDER,
    VOCABULARY,
    WORD_PIECES,
    Encoder,
    EncoderError,
    WordPieces,
    shared_encoder,
)


def test_vectors_have_unit_length_and_texts_of_one_meaning_are_near() -> None:
    vectors = shared_encoder().encode(
        ["deploy it to staging", "roll out the release", "the button overlaps the logo"]
    )
    assert vectors.shape == (3, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    near, far = vectors[1:] @ vectors[0]
    assert near > far + 0.2


def test_a_vector_is_that_of_the_published_model() -> None:
    """The first components of the float model, to its rounding."""
    vector = shared_encoder().encode(["This is an example sentence"])[0]
    assert vector[:5] == pytest.approx([0.0677, 0.0635, 0.0487, 0.0793, 0.0374], abs=0.02)


def test_a_vector_does_not_depend_on_the_texts_beside_it() -> None:
    alone = Encoder().encode(["run the tests"])[0]
    beside = Encoder().encode(["word " * 1000, "run the tests", ""])
    assert np.array_equal(alone, beside[1])


def test_without_its_library_the_encoder_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert not Encoder().available
    with pytest.raises(EncoderError, match="pip install onnxruntime"):
        Encoder().encode(["a"])


def test_without_its_model_the_encoder_is_unavailable(tmp_path: Path) -> None:
    assert not Encoder(tmp_path).available
    with pytest.raises(EncoderError, match="model is missing"):
        Encoder(tmp_path).encode(["a"])
    assert shared_encoder().available


def test_pieces_of_one_word_are_near_in_texts_of_one_meaning() -> None:
    pieces = shared_encoder().pieces("Deploy it to staging, please!")
    assert list(pieces.spelt) == [True, True, True, True, False, True, False]
    assert pieces.rows.shape == (7, DIMENSIONS)
    others = shared_encoder().pieces("release this to production").rows
    near = pieces.rows[0] @ others.T / np.linalg.norm(others, axis=1)
    assert near.argmax() == 0
    assert len(shared_encoder().pieces("").ids) == 0


def test_a_part_is_taken_as_it_reads_in_the_whole_whatever_was_read_before() -> None:
    whole, part = "The build is red. Can you commit it?", "Can you commit it?"
    encoder = Encoder()
    (within,) = encoder.encode([part], within=whole)
    (alone,) = encoder.encode([part])
    assert 0.7 < within @ alone < 0.99
    assert np.linalg.norm(within) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(encoder.encode([part], within=whole)[0], within)
    for absent in ("commit that", "uild"):  # a piece of a word does not count
        (found,) = encoder.encode([absent], within=whole)
        assert np.array_equal(found, encoder.encode([absent])[0])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Café, NAÏVE!", "cafe , naive !"),
        ("foo_bar(x) != 3.14", "foo _ bar ( x ) ! = 3 . 14"),
        ("re-deployments\tto\r\nk8s", "re - deployment ##s to k ##8 ##s"),
        ("中文 ok\x00\u200b", "中 文 ok"),
        ("ΣΑΣ 🎉", "σ ##α ##σ [UNK]"),
        ("x" * 101, "[UNK]"),
        ("", ""),
    ],
)
def test_texts_are_cut_as_the_model_was_trained(text: str, pieces: str) -> None:
    """The pieces of the published tokenizer."""
    cut = WordPieces((FOLDER / VOCABULARY).read_text("utf-8").splitlines())
    assert cut(text) == pieces.split()
    assert len(cut("many words " * 1000)) == WORD_PIECES - 2
