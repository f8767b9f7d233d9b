"""What the page uses of others is what was recorded."""

import hashlib
from pathlib import Path

from kds.web.assets import FOLDER


def test_vendored_files_have_the_recorded_hashes_and_licences() -> None:
    tool = Path(__file__).parents[3] / "tools/vendor_web.py"
    source = tool.read_text()
    folders = (FOLDER / "vendor", Path(__file__).parent / "vendor")
    files = {path.name: path.read_bytes() for folder in folders for path in folder.iterdir()}
    assert len(files) == 6
    for name, content in files.items():
        assert hashlib.sha256(content).hexdigest() in source, name
        licence = name.partition(".min")[0].partition(".LICENSE")[0] + ".LICENSE.txt"
        assert licence in files
