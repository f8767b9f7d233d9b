"""The files that the page takes from others are the recorded ones, with their licences."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_vendored_files_have_the_recorded_hashes_and_licences() -> None:
    lines = (ROOT / "tools/vendored.sha256").read_text().splitlines()
    recorded = dict(line.split()[::-1] for line in lines if not line.startswith("#"))
    folders = ("src/kds/web/static/vendor", "tests/kds/web/vendor")
    files = {f"{folder}/{path.name}" for folder in folders for path in (ROOT / folder).iterdir()}
    assert files == recorded.keys()
    for name, digest in recorded.items():
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name
    names = {name for name in files if name.endswith(".js")}
    assert {name.replace(".min.js", ".LICENSE.txt") for name in names} <= files
