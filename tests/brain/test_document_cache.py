"""Documents that are kept between two starts."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kds.brain import yaml_files
from kds.brain.yaml_files import FILE_NAME, DocumentCache, parse_yaml

TEXT = "name: x\nitems:\n  - {a: 1, b: [true, 2.5]}\n  - text\n"


def _kept(folder: Path, text: str = TEXT, first_line: int = 2) -> None:
    cache = DocumentCache.open(folder)
    cache.keep(text, cache.parse(text, path="f.md", first_line=first_line))
    cache.save()


@pytest.mark.parametrize("first_line", [1, 2, 40])
def test_a_document_comes_back_as_it_was_at_any_place(tmp_path: Path, first_line: int) -> None:
    _kept(tmp_path, first_line=2)
    again = DocumentCache.open(tmp_path)
    assert again.is_sound(TEXT)
    found = again.parse(TEXT, path="g.md", first_line=first_line)
    assert found == parse_yaml(TEXT, path="g.md", first_line=first_line)
    assert found.where(("items", 1)) == f"g.md:{first_line + 3}"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@settings(max_examples=20)
def test_any_data_survives(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    folder, text = tmp_path_factory.mktemp("cache"), json.dumps({"data": data})
    document = parse_yaml(text, path="f.md")
    assume(not document.problems)
    _kept(folder, text)
    assert DocumentCache.open(folder).parse(text, path="f.md") == document


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"no json", b'{"made_by": 1, "documents": {}}', b"[" * 100_000, b"\xff"],
)
def test_a_cache_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    cache = DocumentCache.open(tmp_path)
    assert not cache.is_sound(TEXT)
    assert cache.parse(TEXT, path="f.md") == parse_yaml(TEXT, path="f.md")


def test_what_other_libraries_made_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _kept(tmp_path)
    monkeypatch.setattr(yaml_files, "version", lambda name: "0")
    assert not DocumentCache.open(tmp_path).is_sound(TEXT)
