"""Fetch what the web page uses of others: single files of npm packages, with their licences.

What is named `tests/...` only its tests use, and nobody gets it with the package.

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

ROOT: Final = Path(__file__).parent.parent
SHIPPED: Final = "src/kds/web/static/vendor"
TESTS: Final = "tests/kds/web/vendor"


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of an npm package, its name here, and in which folder."""

    package: str
    member: str
    name: str
    sha256: str
    folder: str = SHIPPED

    @property
    def path(self) -> str:
        """Where it stands, from the root of the source."""
        return f"{self.folder}/{self.name}"


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
    Vendored(
        "axe-core@4.14.1",
        "axe.min.js",
        "axe.min.js",
        "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
        TESTS,
    ),
    Vendored(
        "axe-core@4.14.1",
        "LICENSE",
        "axe.LICENSE.txt",
        "af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
        TESTS,
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
        for path, content in found.items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_bytes(content)
    return 1 if wrong else 0


def present() -> dict[str, bytes]:
    """The files that are there, by their paths."""
    files = [path for folder in (SHIPPED, TESTS) for path in (ROOT / folder).glob("*")]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}


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
                        found[one.path] = member.read() if member else b""
    return found


def faults(found: dict[str, bytes]) -> list[str]:
    """What is missing, other than recorded, or not recorded at all."""
    recorded = {one.path: one.sha256 for one in FILES}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    names = sorted({*recorded, *hashes})
    return [
        f"{name}: SHA-256 is {hashes.get(name)}, recorded is {recorded.get(name)}"
        for name in names
        if hashes.get(name) != recorded.get(name)
    ]


if __name__ == "__main__":
    sys.exit(main())
