"""`kds logs`: what the hook and the service wrote down."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import click

from kds.brain.clock import moment
from kds.brain.private_file import read_private
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import common_options
from kds.cli.output import print_lines, say
from kds.cli.palette import shown_text
from kds.hooks.log import read_hook_log
from kds.service.resident.address import ServiceAddress

SHOWN: Final = 20

_STAMP: Final = re.compile(r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?) (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log; what follows an error without a time of its own belongs to that."""

    log: str
    at: str | None
    text: str


@command("kds logs", "kds logs --log hook -n 5", "kds logs --json")
@click.option("-n", "count", type=click.IntRange(min=1), default=SHOWN, show_default=True,
              help="How many of the newest lines.")  # fmt: skip
@click.option("--log", type=click.Choice(["hook", "service"]), help="Only this one.")
@common_options
def logs(*, count: int, log: str | None, workspace: Workspace) -> None:
    """Show the logs of the hook and of the service, the newest line last.

    They never hold what you wrote. Times are UTC.
    """
    lines = [line for line in _lines(workspace) if log in (None, line.log)][-count:]
    shown = [
        (line.log, f"{shown_text(line.at)} {line.text}" if line.at else line.text) for line in lines
    ]
    say(lines, (lambda: print_lines(shown)) if lines else "nothing was written down")


def _lines(workspace: Workspace) -> Sequence[LogLine]:
    """Both logs by time; what has none stays behind the line before it."""
    timed, last = [], ""
    for line in (*_hook(workspace), *_service(workspace)):
        last = line.at or last
        timed.append((last, line))
    return [line for _, line in sorted(timed, key=lambda pair: pair[0])]


def _hook(workspace: Workspace) -> Iterator[LogLine]:
    for trouble in read_hook_log(workspace.brain):
        at = moment(trouble.at) if trouble.at else None
        yield LogLine("hook", at, trouble.reason)


def _service(workspace: Workspace) -> Iterator[LogLine]:
    content = read_private(ServiceAddress(workspace.brain).log_path) or b""
    for line in content.decode("utf-8", "replace").splitlines():
        found = _STAMP.fullmatch(line)
        if found:
            yield LogLine("service", found["at"], found["text"])
        elif line.strip():
            yield LogLine("service", None, line)
