"""Sections are cut into passages: nothing is lost, and nothing stands where it does not."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.chunking import CHUNK_TOKENS, CutSection, cut
from kds.brain.documents.content import Block, BlockKind
from kds.brain.words.tokens import estimate_tokens

WORDS = st.text(alphabet='abcdefg ABC.,;:"“”()*\n-1290é漢', max_size=400)
KINDS = st.sampled_from(["paragraph", "item", "row", "code"])


def texts(section: CutSection) -> list[str]:
    return [section.text[one.start : one.start + one.length] for one in section.pieces]


@given(st.lists(st.tuples(WORDS, KINDS), max_size=12), st.integers(min_value=5, max_value=60))
def test_every_word_is_in_a_passage_and_every_passage_in_the_text(
    given_blocks: Sequence[tuple[str, BlockKind]], limit: int
) -> None:
    section = cut([Block(text, kind) for text, kind in given_blocks], limit=limit)
    at = 0
    for piece in section.pieces:
        assert piece.start >= at
        assert section.text[at : piece.start].strip() == ""
        assert section.text[piece.start : piece.start + piece.length].strip()
        at = piece.start + piece.length
    assert section.text[at:].strip() == ""
    said = " ".join(text for text, _ in given_blocks).split()
    assert " ".join(texts(section)).split() == said or "".join(texts(section)).split() == said \
        or "".join("".join(texts(section)).split()) == "".join(said)  # fmt: skip


@given(st.text(alphabet="ab ", max_size=3000), st.integers(min_value=3, max_value=50))
def test_a_paragraph_is_cut_to_size(text: str, limit: int) -> None:
    for piece in cut([Block(text)], limit=limit).pieces:
        assert piece.tokens <= max(limit, 1) + 1


def test_each_definition_is_a_passage() -> None:
    section = cut(
        [
            Block("In this Agreement the following holds."),
            Block('"Fee" means 1 % of the sum.'),
            Block('"Term" means a year.'),
            Block("(a) ending in June; or", "item"),
            Block("(b) ending in July.", "item"),
            Block("All else follows the law."),
        ]
    )
    assert [(one.kind, [term.term for term in one.terms]) for one in section.pieces] == [
        ("prose", []), ("definition", ["Fee"]), ("definition", ["Term"]), ("prose", []),
    ]  # fmt: skip
    assert "ending in July" in texts(section)[2]


def test_paragraphs_are_put_together_up_to_a_size() -> None:
    paragraph = "word " * 60
    section = cut([Block(paragraph) for _ in range(8)])
    sizes = [one.tokens for one in section.pieces]
    assert len(sizes) == 3
    assert max(sizes) <= CHUNK_TOKENS


def test_a_table_of_terms_is_cut_between_its_rows() -> None:
    rows = [Block(f"{name} | meaning", "row", term=name, defines=True) for name in ("A1", "B2")]
    section = cut([Block("Term | Meaning", "row"), *rows])
    assert [one.kind for one in section.pieces] == ["table", "definition", "definition"]


@pytest.mark.parametrize("kind", ["row", "code"])
def test_a_block_other_than_prose_is_cut_only_when_it_must(kind: BlockKind) -> None:
    text = "\n".join(f"x{number} = y{number}" for number in range(60))
    assert estimate_tokens(text) > CHUNK_TOKENS
    assert len(cut([Block(text, kind)]).pieces) == 1
