"""The pictures of the documentation, made of what the commands really print.

    python tools/pictures.py [--check]       what terminals show: docs/pictures/NAME.svg
    python tools/pictures.py --data FOLDER   plots of `kds eval chats` and `intents`, with tables

--check writes nothing, and fails when a picture says something else than its commands do now. What
a picture shows begins with its commands, so tests/kds/test_pictures.py can run them too.
"""

import argparse
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
PROMPT: Final = "$ "
WIDTH: Final = 100

SCENES: Final[Mapping[str, Sequence[str]]] = {
    "why": ("kds route 'I want to add a FAB button'", "kds route 'Make it purple' --why"),
    "eval": ("kds eval dialogues conversations.yaml",),
}
"""Picture -> the commands that it shows, one behind the other in one workspace."""

FILES: Final = {"conversations.yaml": ROOT / "tests" / "dialogues" / "issue_examples.yaml"}
"""What lies in that workspace."""

VARIES: Final = re.compile(r"\d{8}|\d+\.\d+|[\d,]+ characters|\d+ s old")
"""Dates, figures and ages: what differs from day to day and from machine to machine."""

PROMISES: Final = (0.0, 0.25, 0.5, 0.75, 0.93, 1.0)
"""Of the curve, the points that its table has."""

PLOTTING: Final = "svg.fonttype: none\nsvg.hashsalt: kds\n"
"""Of matplotlib: text stays text, and the same figures make the same file."""

FIGURES: Final = {
    "accuracy": "right, in scope",
    "ece": "error of the confidence",
    "acted_precision": "right, where KDS would act",
    "coverage": "acted on, in scope",
    "oos_acted": "acted on, out of scope",
}
"""What the table beside the plot of the intents says."""

# Without the font that rich would fetch from another host; each text brings its own length along.
SVG: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""

_TEXT: Final = re.compile(r"<text class=\"[^\"]*-r\d+\"[^>]*>([^<]*)</text>")


def said(picture: str) -> str:
    """The text of a picture, without the blanks and with marks for what varies."""
    return _bare("".join(unescape(text) for text in _TEXT.findall(picture)))


def shown(printed: Sequence[tuple[str, str]]) -> str:
    """What a picture of these commands and their output would say, as `said` has it."""
    return _bare("".join(f"{PROMPT}{command}\n{output}" for command, output in printed))


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", VARIES.sub("N", text.replace("\xa0", " ")))


def _draw(name: str, printed: Sequence[tuple[str, str]]) -> str:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        for command, output in printed:
            console.print(Text(PROMPT + command, style="bold"))
            console.print(Text.from_ansi(output.rstrip()))
        return console.export_svg(title="", code_format=SVG, unique_id=name)


def _played(commands: Sequence[str]) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "kds-brain").mkdir()
        for name, source in FILES.items():
            (folder / name).write_bytes(source.read_bytes())
        return [(command, _on_a_terminal(command, folder)) for command in commands]


def _on_a_terminal(command: str, folder: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KDS_")}
    own = {"KDS_SERVICE_AUTO": "0", "KDS_PROGRESS": "off", "TERM": "xterm-256color"}
    program, *arguments = shlex.split(command)
    found = Path(sys.executable).with_name(program)
    ours, theirs = pty.openpty()
    environ = kept | own | {"COLUMNS": str(WIDTH), "HOME": str(folder)}
    with subprocess.Popen(
        [found, *arguments], cwd=folder, env=environ, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        output = _all_of(ours)
    if process.returncode:
        sys.exit(f"{command}\n{output}")
    return output


def _all_of(terminal: int) -> str:
    pieces = []
    try:
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    except OSError:  # what Linux says when the other side has closed
        pass
    os.close(terminal)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def _terminals(*, check: bool) -> None:
    stale = []
    for name, commands in SCENES.items():
        path, printed = PICTURES / f"{name}.svg", _played(commands)
        if not check:
            path.write_text(_draw(name, printed), encoding="utf-8")
        elif said(path.read_text(encoding="utf-8")) != shown(_plain(printed)):
            stale.append(path.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the commands print; run `make pictures`")


def _plain(printed: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(command, Text.from_ansi(output).plain) for command, output in printed]


def _plots(data: Path) -> None:
    chats = _measured("curve", "eval", "chats", data / "chats" / "dev.jsonl")
    rows = [_row(promise, _at(chats["curve"], promise)) for promise in PROMISES]
    head = "| promised | edits | right | changed for the worse | written out |"
    _write_table("references", "curve", [head, "|---|---|---|---|---|", *rows])
    sets = (data / "intents" / f"clinc150_{part}.jsonl" for part in ("val", "train"))
    draws = ("--shots", "10", "--seeds", "1")
    intents = _measured("intents", "eval", "intents", next(sets), "--train", next(sets), *draws)
    shares = [
        f"| {said} | {intents[key]:.1%} |".replace("%", " %") for key, said in FIGURES.items()
    ]
    _write_table("intents", "reliability", ["| measure | value |", "|---|---|", *shares])


def _measured(name: str, *command: str | Path) -> dict[str, Any]:
    """Draw a plot; what it shows, as JSON has it."""
    kds = Path(sys.executable).with_name("kds")
    with tempfile.NamedTemporaryFile("w", suffix="rc") as plotting:
        plotting.write(PLOTTING)
        plotting.flush()
        own = {"MATPLOTLIBRC": plotting.name, "SOURCE_DATE_EPOCH": "0"}
        done = subprocess.run(
            [kds, *command, "--plot", PICTURES / f"{name}.svg", "--json"],
            stdout=subprocess.PIPE, text=True, check=True, env=os.environ | own,
        )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _write_table(page: str, part: str, lines: Sequence[str]) -> None:
    """Put a table between its marks of a page."""
    path = ROOT / "docs" / f"{page}.md"
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{path} has no marks {begin} and {end}")
    path.write_text("\n".join([before + begin, *lines, end + after]), encoding="utf-8")


def _at(curve: Sequence[Mapping[str, Any]], promise: float) -> Mapping[str, Any]:
    """The point that holds from the change before it up to its own promise."""
    nothing = {"edits": 0, "right": 0, "harmed": 0.0, "recall": 0.0}
    return next((point for point in curve if point["threshold"] >= promise), nothing)


def _row(promise: float, point: Mapping[str, Any]) -> str:
    shares = f"{point['harmed']:.1%} | {point['recall']:.1%}".replace("%", " %")
    return f"| {promise:.2f} | {point['edits']} | {point['right']} | {shares} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.data:
        _plots(given.data)
    else:
        _terminals(check=given.check)
