"""Runs the command line for tests: in this process, or as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kds.cli import main

KDS = (sys.executable, "-c", "from kds.cli import main; main()")
"""What the installed script does, wherever it was installed to."""


@dataclass(frozen=True)
class Result:
    """What a run of `kds` left: its exit code and its two streams."""

    code: int
    out: str
    err: str


@pytest.fixture
def kds_call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run `kds` in this process: ``kds_call("route", "Make it purple")``."""

    def call(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        streams = capsys.readouterr()
        return Result(int(stop.value.code or 0), streams.out, streams.err)

    return call


@pytest.fixture
def kds_spawn(workspace: Path, launchers: Path) -> Callable[..., Result]:
    """Run `kds` as a process in a fresh workspace; arguments may be bytes, as from a shell.

    The process is forked from one that has everything loaded.
    """

    def spawn(*arguments: str | bytes, stdin: bytes = b"", **environ: str) -> Result:
        done = subprocess.run(
            [str(launchers / "kds"), *arguments], cwd=workspace, input=stdin,
            capture_output=True, timeout=300,
            env={**os.environ, **environ},
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return spawn
