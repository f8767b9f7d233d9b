"""The `kds serve` command: what it takes, what it refuses, how it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import wait_until


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--http", "0.0.0.0:8765"), "'0.0.0.0' is not this machine's loopback address"),
        (("--http", "example.com:80"), "'example.com' is not this machine's loopback address"),
        (("--http", "http"), "'http' names no port"),
        (("--http", "70000"), "'70000' names no port"),
        (("--idle-timeout", "soon"), "invalid duration 'soon'"),
        (("--workspace", "nowhere"), "no such folder"),
    ],
)
def test_what_cannot_be_is_refused_with_a_fix(
    workspace: Path, kds_call: Callable[..., Any], options: tuple[str, ...], message: str
) -> None:
    result = kds_call("serve", *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "  fix: " in result.err
    assert not list(workspace.glob("kds-brain/service*"))


FAULTS = """
import threading, warnings
from kds.cli.main import main
from kds.service.server import Service

def run(service):
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    warnings.warn("a warning\\nof two lines")
    raise RuntimeError("what\\nwent wrong")

Service.run = run
main(["serve", "--json-log", "--no-socket", "--http", "0"])
"""


@pytest.mark.usefixtures("workspace")
def test_faults_and_refusals_of_a_json_log_are_json_lines() -> None:
    for code, said in (
        (FAULTS, ["ZeroDivisionError at ", "a warning", "internal error: RuntimeError"]),
        (FAULTS.replace("no-socket", "nonsense"), ["No such option"]),
    ):
        command = [sys.executable, "-c", code]
        lines = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()
        for line, part in zip(lines, said, strict=True):
            assert part in str(json.loads(line))
        assert "division by zero" not in str(lines)


def test_every_line_of_a_json_log_is_json(
    fitted_workspace: Path,
    url: str,
    outage: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KDS_DATABASE", url)
    command = [sys.executable, "-m", "kds", "serve", "--json-log", "--no-socket"]
    with subprocess.Popen(
        [*command, "--team", "127.0.0.1:0", "--workspace", str(fitted_workspace)],
        stderr=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stderr is not None
        began = json.loads(service.stderr.readline())
        place = began["message"].rpartition(" ")[2]
        assert httpx.get(f"{place}/readyz").status_code == 200
        outage(True)
        # the driver logs, too
        wait_until(lambda: httpx.get(f"{place}/readyz").status_code == 503)
        service.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in service.stderr]
    assert {one["event"] for one in lines} == {"request", "log", "service"}
    environ = {name: value for name, value in os.environ.items() if name != "KDS_DATABASE"}
    failed = subprocess.run(
        [*command, "--team", "127.0.0.1:0", "--workspace", str(fitted_workspace)],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert failed.returncode == 2
    (line,) = failed.stderr.splitlines()
    assert "none is named" in json.loads(line)["message"]
