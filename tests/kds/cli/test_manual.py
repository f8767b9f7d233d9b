"""The man pages: one for each command, from the same help as docs/cli.md."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kds.cli.app import app
from kds.cli.reference import reference, write_manual


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    written = write_manual(app, tmp_path_factory.mktemp("man"))
    return {path.name: path.read_text(encoding="utf-8") for path in written}


def test_every_command_of_the_reference_has_a_page(pages: dict[str, str]) -> None:
    commands = re.findall(r"^## (kds(?: [\w-]+)*)$", reference(), re.MULTILINE)
    assert {f"{name.replace(' ', '-')}.1" for name in commands} == {*pages}


def test_a_page_says_name_usage_options_and_examples(pages: dict[str, str]) -> None:
    page = pages["kds-route.1"]
    assert page.startswith('.TH "KDS-ROUTE" "1" "')
    for part in (
        r"kds\-route \- Route MESSAGE",
        r"\fBkds route\fR [OPTIONS] [MESSAGE]",
        r"\fB\-\-no\-log\fR",
        ".nf\n  kds route 'I want to add a FAB button'",
        ".BR kds (1)",
    ):
        assert part in page


def test_no_line_of_text_is_a_request_to_roff(pages: dict[str, str]) -> None:
    lines = {line for page in pages.values() for line in page.splitlines()}
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".PP", ".TP", ".BR", ".nf", ".fi"}
    assert not [line for line in lines if re.search(r"\\(?![-&efR]|fB|fR)", line)]


def test_a_build_with_a_date_of_its_own_comes_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1762160400")
    first, *_ = write_manual(app, tmp_path)
    assert '"2025-11-03"' in first.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_man_finds_nothing_wrong_with_the_pages(tmp_path: Path) -> None:
    for path in write_manual(app, tmp_path)[:10]:
        done = subprocess.run(
            ["man", "--warnings", "-l", "-Tutf8", str(path)], capture_output=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
