"""Adding files and folders: what is new or changed is read, and bad files stop no others."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from kds.brain.clock import utc_now
from kds.brain.documents.store import DocumentStore
from kds.documents import indexing
from kds.documents.indexing import Report, add_documents
from kds.readers.reading import read_document


def states(report: Report) -> dict[str, str]:
    return {one.path.name: one.state for one in report.outcomes}


def write(path: Path, text: str, *, age_s: float = 3600) -> Path:
    """Write a file as if it had been written some time ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = (utc_now() - timedelta(seconds=age_s)).timestamp()
    os.utime(path, (then, then))
    return path


def test_a_folder_is_read_with_all_below_it(store: DocumentStore, shelf: Path) -> None:
    write(shelf / "a.md", "# A\n\nalpha")
    write(shelf / "deep" / "er" / "b.txt", "beta")
    write(shelf / "code.py", "x = 1")
    write(shelf / ".hidden" / "c.md", "gamma")
    write(shelf / "node_modules" / "d.md", "delta")
    report = add_documents(store, [shelf])
    assert states(report) == {"a.md": "added", "b.txt": "added"}
    assert [one.path for one in store.documents()] == [
        str(shelf / "a.md"), str(shelf / "deep" / "er" / "b.txt"),
    ]  # fmt: skip


def test_only_what_has_changed_is_read_again(
    store: DocumentStore, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("same", "touched", "changed"):
        write(shelf / f"{name}.md", name)
    add_documents(store, [shelf])
    write(shelf / "changed.md", "beta 22")  # of the same age and length
    write(shelf / "touched.md", "touched", age_s=60)
    read: list[str] = []

    def counted(path: Path, data: bytes) -> object:
        read.append(path.name)
        return read_document(path, data)

    monkeypatch.setattr(indexing, "read_document", counted)
    assert states(add_documents(store, [shelf])) == {
        "changed.md": "replaced", "same.md": "unchanged", "touched.md": "unchanged",
    }  # fmt: skip
    assert read == ["changed.md"]
    assert store.search("beta 22").hits[0].passage.text == "beta 22"


def test_what_could_not_be_read_anew_stays_as_it_was(store: DocumentStore, shelf: Path) -> None:
    write(shelf / "a.txt", "alpha words")
    add_documents(store, [shelf])
    (shelf / "a.txt").write_bytes(b"caf\xe9")
    assert states(add_documents(store, [shelf])) == {"a.txt": "failed"}
    assert store.search("alpha").hits


def test_only_named_links_are_followed(store: DocumentStore, shelf: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "private" / "diary.md", "secret words")
    write(shelf / "a.md", "alpha")
    (shelf / "out.md").symlink_to(secret)
    (shelf / "folder").symlink_to(secret.parent)
    (shelf / "circle").symlink_to(shelf)
    (shelf / "broken.md").symlink_to(shelf / "nowhere")
    assert states(add_documents(store, [shelf])) == {"a.md": "added"}
    assert states(add_documents(store, [shelf / "out.md"])) == {"diary.md": "added"}


@pytest.mark.skipif(os.name != "posix", reason="no such names there")
def test_files_with_odd_names_or_contents_stop_no_others(
    store: DocumentStore, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shelf / "good.md", "alpha")
    write(shelf / "odd.html", "<meta charset=undefined>gamma")
    write(shelf / "strange.txt", "delta")
    try:
        (shelf / os.fsdecode(b"n\xff.md")).write_text("epsilon")
    except OSError:
        pytest.skip("this file system refuses such names")

    def failing(path: Path, data: bytes | None = None) -> object:
        if path.name == "strange.txt":
            raise ZeroDivisionError("a parser's own")
        return read_document(path, data)

    monkeypatch.setattr(indexing, "read_document", failing)
    report = add_documents(store, [shelf])
    told = {one.path.name: one.error.message for one in report.of("failed") if one.error}
    assert [one.path.name for one in report.of("added")] == ["good.md"]
    assert told[os.fsdecode(b"n\xff.md")].startswith("cannot be read (UnicodeEncodeError")
    assert told["strange.txt"] == "cannot be read (ZeroDivisionError: a parser's own)"
    assert told["odd.html"] == "not UNDEFINED text (line 1)"
