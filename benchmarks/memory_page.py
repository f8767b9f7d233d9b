"""Measure the conversation memory, and write docs/memory-benchmarks.md.

    python benchmarks/memory_page.py [--quick] [--write docs/memory-benchmarks.md]

Runs every memory benchmark of this folder one after the other, and prints a page of their
figures. --quick makes them small, to see that they run. A quarter of an hour on two cores.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from common import options

HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Part:
    """A benchmark: its command, what it is about, and the arguments that make it small."""

    title: str
    command: tuple[str, ...]
    quick: tuple[str, ...] = ()
    keeps_database: bool = False


PARTS: Final = (
    Part("The store at 100,000 messages", ("memory_store.py",), ("--messages", "2000"), True),
    Part("Recall at 100,000 messages", ("recall_cost.py",), ("--messages", "2000"), True),
    Part("Code found by its names", ("code_identifiers.py",), ("--functions", "60")),
    Part("A turn of a chat", ("memory_turn.py", "turn"), ("--turns", "20")),
    Part("10,000 windows and their budget", ("memory_turn.py", "budget"), ("--sessions", "50")),
    Part("Eight processes that write", ("memory_writers.py",), ("--writes", "10")),
    Part("Killed while writing, 100 rounds", ("memory_kill.py",), ("--rounds", "3")),
)


def main() -> int:
    """Run them all; print the page, or write it."""
    parser = options(__doc__, "--quick")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts = [(part, _run(part, Path(folder), quick=given.quick)) for part in PARTS]
    page = "\n".join(_page(parts)) + "\n"
    if given.write:
        given.write.write_text(page)
    else:
        print(page)
    return 0


def _run(part: Part, folder: Path, *, quick: bool) -> Any:
    script, *arguments = part.command
    command = [sys.executable, str(HERE / script), *arguments, "--json"]
    if part.keeps_database:
        command += ["--folder", str(folder)]
    print(f"{part.title} ...", file=sys.stderr, flush=True)
    done = subprocess.run(
        command + list(part.quick if quick else ()), check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


def _page(parts: list[tuple[Part, Any]]) -> Iterator[str]:
    yield "# The conversation memory, measured\n"
    yield (
        f"Written by `benchmarks/memory_page.py` on {platform.system()}, Python "
        f"{platform.python_version()}, two shared cores. Times are CPU milliseconds where they do "
        "not say `wall`. How well recall finds things: [evaluation](evaluation.md), "
        "`kds eval retrieval`."
    )
    for part, figures in parts:
        yield f"\n## {part.title}\n"
        yield f"`python benchmarks/{' '.join(part.command)}`\n"
        yield "| figure | value |"
        yield "|---|---|"
        yield from (f"| {name} | {value} |" for name, value in _rows(figures))


def _rows(figures: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every figure of a nested result under its dotted name."""
    if isinstance(figures, dict):
        for key, value in figures.items():
            yield from _rows(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(figures, float):
        yield prefix, f"{figures:,.3f}".rstrip("0").rstrip(".")
    elif isinstance(figures, list):
        yield prefix, ", ".join(str(value) for value in figures)
    else:
        yield prefix, f"{figures:,}" if isinstance(figures, int) else str(figures)


if __name__ == "__main__":
    sys.exit(main())
