"""Documents that are kept between two starts."""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"no json", b'{"made_by": 1, "documents": {}}', b"[" * 100_000, b"\xff"],
)
def test_a_cache_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    cache = DocumentCache.open(tmp_path)
    assert not cache.is_sound(TEXT)
    assert cache.parse(TEXT, path="f.md") == parse_yaml(TEXT, path="f.md")
