"""Fetch what the web page uses of others: single files of npm packages, with their licences.

    python tools/vendor_web.py          # checks what is there; needs no network
    python tools/vendor_web.py --fetch  # takes the packages from npm, by `npm pack`, and writes

Versions are pinned here, and so is the SHA-256 of every file: what differs is not written. A new
version is a new line, with the hashes that a first run complains about.
"""

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent.parent / "src/kds/web/static/vendor"


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of an npm package, and its name here."""

    package: str
    member: str
    name: str
    sha256: str


FILES: Final = (
    Vendored(
        "htmx.org@2.0.11",
        "dist/htmx.min.js",
        "htmx.min.js",
        "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    Vendored(
        "htmx.org@2.0.11",
        "LICENSE",
        "htmx.LICENSE.txt",
        "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
    ),
    Vendored(
        "htmx-ext-sse@2.2.4",
        "dist/sse.min.js",
        "htmx-sse.min.js",
        "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
    ),
    Vendored(
        "htmx-ext-sse@2.2.4",
        "LICENSE",
        "htmx-sse.LICENSE.txt",
        "a17d224ce9afdc21ec9491b76a2f5d036d19aa641ac4f85ca29c21f9f7e54fdf",
    ),
)


def main() -> int:
    """Check or fetch; the exit code says whether every file is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fetch", action="store_true", help="take the packages from npm")
    found = fetched() if parser.parse_args().fetch else present()
    wrong = list(faults(found))
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    if not wrong:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for one in FILES:
            (FOLDER / one.name).write_bytes(found[one.name])
    return 1 if wrong else 0


def present() -> dict[str, bytes]:
    """The files that are there, by their names."""
    return {path.name: path.read_bytes() for path in FOLDER.glob("*") if path.is_file()}


def fetched() -> dict[str, bytes]:
    """The files as npm has them. npm checks each package against the registry's own hash."""
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for package in dict.fromkeys(one.package for one in FILES):
            command = ["npm", "pack", "--silent", package]
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
            with tarfile.open(Path(folder) / done.stdout.split()[-1]) as archive:
                for one in FILES:
                    if one.package == package:
                        member = archive.extractfile(f"package/{one.member}")
                        found[one.name] = member.read() if member else b""
    return found


def faults(found: dict[str, bytes]) -> list[str]:
    """What is missing, other than recorded, or not recorded at all."""
    recorded = {one.name: one.sha256 for one in FILES}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    names = sorted({*recorded, *hashes})
    return [
        f"{name}: SHA-256 is {hashes.get(name)}, recorded is {recorded.get(name)}"
        for name in names
        if hashes.get(name) != recorded.get(name)
    ]


if __name__ == "__main__":
    sys.exit(main())
