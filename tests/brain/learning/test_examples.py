"""The accepted examples: readable, added and taken out by their lines."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile
from kds.brain.learning.events import example_id, reference_id
from kds.brain.learning.examples import (
    YOU,
    LearnedExample,
    LearnedFile,
    LearnedFileError,
    LearnedReference,
)
from kds.brain.message import one_line
from kds.brain.yaml_files import MAX_BYTES

from ..conftest import MakeText

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

BY_HAND = """\
# mine
examples:
  # this one matters
  - text: "give the dashboard some love"   # says Ada
    intent: plan
"""


def example(text: str, intent: str = "PLAN") -> LearnedExample:
    return LearnedExample(example_id(text, intent), text, intent, YOU)


def add(file: LearnedFile, *texts: str) -> None:
    for text in texts:
        assert file.add(example(text), now=NOON)


@pytest.fixture
def file(make_text: MakeText) -> LearnedFile:
    return LearnedFile(make_text("learned.yaml"))


def written(file: LearnedFile) -> str | None:
    content = file.text.read()
    return None if content is None else content.decode()


def test_what_was_written_by_hand_is_read_and_keeps_its_bytes(file: LearnedFile) -> None:
    file.text.replace(BY_HAND.encode())
    [mine] = file.load()
    assert (mine.intent, mine.by, mine.line) == ("PLAN", "hand", 4)
    file.text.replace(b"examples:\n")
    add(file, "sort out the login page")
    assert file.remove(example("sort out the login page").id)
    assert written(file) == "examples:\n"


def test_an_example_changed_by_hand_is_still_taken_out(file: LearnedFile) -> None:
    add(file, "sort out the login page", "tidy up the billing module")
    before = written(file) or ""
    file.text.replace(before.replace("by: you", "by: me", 1).encode())
    assert file.remove(example("sort out the login page").id)
    assert [one.text for one in file.load()] == ["tidy up the billing module"]


@pytest.mark.parametrize("text", ["examples: []\n", "# only a comment\n", "examples: [\n]\n"])
def test_a_file_of_another_shape_is_left_as_it_is(file: LearnedFile, text: str) -> None:
    file.text.replace(text.encode())
    with pytest.raises(StoreError, match="no example can be added"):
        add(file, "sort out the login page")
    assert written(file) == text


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        *((b"examples: 3\n", 1), (b"examples:\n- text: x\n", 2), (b"a: [", 1), (b"other: 1\n", 1)),
        (b"# a\n" * (MAX_BYTES // 4 + 1), 1),
    ],
    ids=["no list", "no intent", "no YAML", "another key", "too long"],
)
def test_a_file_that_does_not_load_says_where(file: LearnedFile, raw: bytes, line: int) -> None:
    file.text.replace(raw)
    with pytest.raises(LearnedFileError, match=f"learned.yaml:{line}"):
        file.load()


words = st.text(min_size=1, max_size=60).filter(lambda text: len(one_line(text).strip()) > 1)


@settings(max_examples=40)
@given(
    st.lists(words, min_size=1, max_size=6, unique_by=lambda text: example_id(text, "PLAN")),
    st.randoms(use_true_random=False),
    st.sampled_from([None, "examples:\n", BY_HAND, BY_HAND.rstrip("\n")]),
)
def test_undoing_in_any_order_restores_the_bytes(texts, random, present) -> None:  # type: ignore[no-untyped-def]
    with TemporaryDirectory() as folder:
        file = LearnedFile(PrivateFile(Path(folder) / "learned.yaml"))
        if present is not None:
            file.text.replace(present.encode())
        known = {one.id for one in file.load()}
        added = [one for one in map(example, map(one_line, texts)) if one.id not in known]
        for one in added:
            assert file.add(one, now=NOON)
        if present is None or present == "examples:\n":
            assert [one.id for one in file.load()] == [one.id for one in added]
        random.shuffle(added)
        for one in added:
            assert file.remove(one.id)
        ended = present if present is None or not added else f"{present.rstrip()}\n"
        assert written(file) == ended


BOTH_BY_HAND = """\
examples:
- text: "the job"  # mine
  antecedent: nightly export
- text: "give the dashboard some love"
  intent: plan
"""


def reference(text: str, antecedent: str) -> LearnedReference:
    return LearnedReference(reference_id(text, antecedent), text, antecedent, YOU)


def test_it_stands_among_the_examples_and_leaves_by_its_lines(file: LearnedFile) -> None:
    file.text.replace(BOTH_BY_HAND.encode())
    assert file.add(reference("the button", "FAB button"), now=NOON)
    assert b'text: "the button"\n  antecedent: "FAB button"\n' in (file.text.read() or b"")
    assert [(one.text, one.antecedent, one.by, one.line) for one in file.references()] == [
        ("the job", "nightly export", "hand", 2), ("the button", "FAB button", "you", 6),
    ]  # fmt: skip
    assert [one.intent for one in file.load()] == ["PLAN"]
    assert file.remove(file.references()[-1].id)
    assert file.text.read() == BOTH_BY_HAND.encode()
    assert file.remove(file.references()[0].id)
    assert file.text.read() == ("examples:\n" + BOTH_BY_HAND.partition("export\n")[2]).encode()
