"""The pictures of the documentation, made of what the commands really print.

    python tools/pictures.py       what terminals show: docs/pictures/NAME.svg

What a picture shows begins with its commands: tests/kds/test_pictures.py runs them, and fails when
a picture says something else than they do now.
"""

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
PROMPT: Final = "$ "
WIDTH: Final = 100

SCENES: Final[Mapping[str, Sequence[str]]] = {
    "why": ("kds route 'I want to add a FAB button'", "kds route 'Make it purple' --why"),
    "skills": (
        "kds skills explain 'write the release notes for 2.4'",
        'kds skills explain "don\'t write the release notes yet"',
    ),
    "eval": ("kds eval dialogues conversations.yaml",),
}
"""Picture -> the commands that it shows, one behind the other in one workspace."""

TESTS: Final = ROOT / "tests"
SKILLS: Final = TESTS / "kds" / "activation" / "skills"
FILES: Final = {
    "conversations.yaml": TESTS / "dialogues" / "issue_examples.yaml",
    **{f".claude/skills/{path.parent.name}/SKILL.md": path for path in SKILLS.glob("*/SKILL.md")},
}
"""What lies in that workspace."""

VARIES: Final = re.compile(r"\d{8}|\d+\.\d+|[\d,]+ characters|\d+ s old")
"""Dates, figures and ages: what differs from day to day and from machine to machine."""

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
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(source.read_bytes())
        return [(command, _on_a_terminal(command, folder)) for command in commands]


def _on_a_terminal(command: str, folder: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KDS_")}
    own = {"KDS_SERVICE_AUTO": "0", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    program, *arguments = shlex.split(command)
    found = Path(sys.executable).with_name(program)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [found, *arguments], cwd=folder, env=kept | own | {"HOME": str(folder)}, stdout=theirs,
        stderr=subprocess.DEVNULL,  # where the progress of a slow start would stand
    ) as process:  # fmt: skip
        os.close(theirs)
        pieces = []
        with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
            while piece := terminal.read(65536):  # Linux fails when the other side has closed
                pieces.append(piece)
    output = b"".join(pieces).decode().replace("\r\n", "\n")
    if process.returncode:
        sys.exit(f"{command}\n{output}")
    return output


def main() -> None:
    """Draw the pictures."""
    for name, commands in SCENES.items():
        (PICTURES / f"{name}.svg").write_text(_draw(name, _played(commands)), encoding="utf-8")


if __name__ == "__main__":
    main()
