"""The hook as the clients run it: a process of its own, against a real socket."""

import json
import os
import re
import socket
import socketserver
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kds.hooks import client as hook
from kds.hooks.log import LOG_LIMIT, LOG_NAME, note, read_hook_log
from kds.service.requests import BODY_LIMIT
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S

HOOK = Path(sys.executable).with_name("kds-hook")
PROMPT = "Make it chartreuse"
REPLY = b'{"additionalContext": "KDS: \\"it\\" probably means \\"the FAB button\\"."}'
HEAVY = {"typing", "dataclasses", "socket", "subprocess", "pathlib", "logging", "http", "asyncio"}

Answer = Callable[[socket.socket], None]
pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets here")


def http(status: str, body: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\nconnection: close\r\n\r\n".encode() + body


OK = http("200 OK", REPLY)


@contextmanager
def serving(answer: bytes | Answer) -> Iterator[Any]:
    """Answer each request to the service of this test's user alike; ``requests`` has them."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = list(iter(lambda: self.rfile.readline().rstrip(b"\r\n"), b""))
            sizes = [one.split()[1] for one in head if one.lower().startswith(b"content-length:")]
            body = self.rfile.read(int(sizes[0])) if sizes else b""
            server.requests.append(b"\r\n".join([*head, b"", body]) if head else b"")
            with suppress(OSError):
                answer(self.request) if callable(answer) else self.wfile.write(answer)

    address = ServiceAddress()
    address.ensure()
    address.socket_path.unlink(missing_ok=True)
    made: Any = socketserver.UnixStreamServer
    with made(str(address.socket_path), Handler) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(folder: Path, **more: object) -> dict[str, object]:
    return {"session_id": "abc", "cwd": str(folder), "prompt": PROMPT, **more}


def run(
    given: object, *arguments: str, timeout_ms: int = 20_000, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    return subprocess.run(
        [HOOK, *arguments], input=content, capture_output=True, timeout=PATIENCE_S,
        env={**os.environ, hook.TIMEOUT_VARIABLE: str(timeout_ms), **environ},
    )  # fmt: skip


def was_silent(done: "subprocess.CompletedProcess[bytes]") -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def reasons(folder: Path) -> list[str]:
    return [str(reason) for *_, reason in read_hook_log(folder / "kds-brain")]


def test_a_prompt_goes_to_the_service_as_written_and_the_answer_comes_back(workspace: Path) -> None:
    written = asked(workspace, transcript_path="/x", permission_mode="default")
    with serving(OK) as service:
        done = run(b"\xef\xbb\xbf" + json.dumps(written).encode())
        assert (done.returncode, done.stdout, done.stderr) == (0, REPLY, b"")
    head, _, body = service.requests[0].partition(b"\r\n\r\n")
    assert json.loads(body.decode("utf-8-sig")) == written
    assert head.startswith(b"POST /hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
    with serving(b"HTTP/1.1 204 No Content\r\n\r\n"):
        assert was_silent(run(written))
    assert reasons(workspace) == []


def test_the_folder_of_the_client_decides_about_the_workspace(
    workspace: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsew\u00e9re %" / "KDS" / "kds-brain"
    (elsewhere.parent.parent / "src").mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    with serving(OK) as service:
        run(asked(elsewhere.parent.parent / "src"))
        run(asked(workspace), KDS_HOME=str(elsewhere))
        run(asked(workspace))
        run({"prompt": PROMPT})
    named = [re.search(rb"Kds-Workspace: (\S+)", one) for one in service.requests]
    paths = [unquote(one[1].decode()) for one in named if one]
    assert paths == [str(elsewhere.parent)] * 2 + [str(workspace)] * 2


def test_without_a_workspace_it_is_silent_and_makes_nothing_and_help_says_what_it_is(
    tmp_path: Path,
) -> None:
    assert was_silent(run(asked(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    done = run(b"", "--help")
    assert (done.returncode, done.stdout, b"kds init" in done.stderr) == (0, b"", True)


def hang_up(connection: socket.socket) -> None:
    """Close without a word."""


def drag(connection: socket.socket) -> None:
    """Answer nothing until the hook has given up."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.recv(1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"hello, who is there?", "the service's answer is not HTTP"),
        (b"HTTP/1.1 OK\r\n\r\n", "the service's answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "the service broke off its answer"),
        (http("503 Busy", b'{"error": {"message": "busy"}}'), "the service is busy, or ends"),
        (http("413 Too Large"), "the service answered 413"),
        (drag, "no answer within 2000 ms"),
        (hang_up, "the service's answer is not HTTP"),
        (OK[:-10], "the service broke off its answer"),
        (http("200 OK", b" " * 262_145), "the service's answer is larger than 262,144 bytes"),
    ],
)
def test_an_answer_of_another_kind_is_not_passed_on(
    answer: bytes | Answer, reason: str, workspace: Path
) -> None:
    with serving(answer):
        assert was_silent(run(asked(workspace), timeout_ms=2000))
    assert reasons(workspace) == [reason]


def test_a_runtime_folder_that_others_may_write_to_is_not_trusted(
    workspace: Path, tmp_path: Path
) -> None:
    with serving(OK) as service:
        folder = ServiceAddress().folder
        folder.chmod(0o777)
        assert was_silent(run(asked(workspace)))
        folder.chmod(0o700)
        if os.geteuid() == 0:  # who else can make a folder somebody else's?
            os.chown(folder, 65534, 65534)
            assert was_silent(run(asked(workspace)))
            os.chown(folder, 0, 0)
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
        assert was_silent(run(asked(workspace)))
    assert service.requests == []
    assert all("not private" in one or "is a link" in one for one in reasons(workspace))


def test_input_of_another_kind_or_with_a_folder_that_cannot_be_one_is_let_pass(
    workspace: Path,
) -> None:
    broken = (b"", b'{"prompt": "Make it"} {}', b"\xff\xfe\x00", b'{"a":' * 50_000)
    for given in (*broken, b"[]", b" " * 2**21):
        assert was_silent(run(given))
    assert reasons(workspace) == [
        *["the input is not JSON"] * 4, "the input is not a JSON object",
        "the input is larger than 1,000,000 bytes",
    ]  # fmt: skip
    assert hook.INPUT_LIMIT == BODY_LIMIT
    for cwd in ("\0", "\ud800", "x" * 5000, 7):
        assert was_silent(run({"cwd": cwd, "prompt": PROMPT}))


def test_a_stdin_that_never_ends_is_not_waited_for(workspace: Path) -> None:
    process = subprocess.Popen(
        [HOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, hook.TIMEOUT_VARIABLE: "300"},
    )  # fmt: skip
    assert process.wait(timeout=PATIENCE_S) == 0
    assert process.communicate() == (b"", b"")
    assert reasons(workspace) == ["no answer within 300 ms"]


def test_streams_that_are_closed_or_full_are_not_trouble_to_the_client(workspace: Path) -> None:
    (workspace / "given.json").write_text(json.dumps(asked(workspace)))
    with serving(OK):
        for redirection in ("<&-", ">&-", "<&- >&- 2>&-", ">/dev/full", "| true", "2>&- <&-"):
            line = f'set -o pipefail; "$0" < given.json {redirection}'
            command = ["bash", "-c", line, HOOK]
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
            assert was_silent(done), redirection


def test_a_log_that_cannot_be_written_or_leads_elsewhere_is_left_alone(
    workspace: Path, tmp_path: Path
) -> None:
    log, target = workspace / "kds-brain" / LOG_NAME, tmp_path / "theirs"
    log.mkdir()
    assert was_silent(run(asked(workspace)))
    log.rmdir()
    target.touch()
    log.symlink_to(target)
    assert was_silent(run(asked(workspace)))
    assert target.read_bytes() == b""


def test_the_log_is_private_never_holds_the_prompt_and_begins_anew_when_full(
    workspace: Path,
) -> None:
    for answer in (http("500 " + PROMPT, REPLY), b"HTTP/1.1 Make it chartreuse\r\n\r\n", REPLY):
        with serving(answer):
            assert was_silent(run(asked(workspace)))
    assert was_silent(run(PROMPT.encode()))
    log = workspace / "kds-brain" / LOG_NAME
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert len(reasons(workspace)) == 4
    assert "chartreuse" not in log.read_text()
    log.write_bytes(b"x" * LOG_LIMIT)
    note(str(log.parent), "trouble")
    assert [path.name for path in log.parent.iterdir()] == [f"{LOG_NAME}.1"]


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the Python that would start a service: writes down how it was called."""
    monkeypatch.delenv("KDS_SERVICE_AUTO")
    script, calls = tmp_path / "python", tmp_path / "calls"
    os.mkfifo(calls)
    script.write_text(f'#!/bin/sh\necho "$PWD $*" > "{calls}"\n')
    script.chmod(0o755)
    return script


def start(python: Path, given: dict[str, Any]) -> "subprocess.CompletedProcess[bytes]":
    code = f"import sys; sys.executable = {str(python)!r}; "
    return subprocess.run(
        [sys.executable, "-c", f"{code}from kds.hooks.client import main; main()"],
        input=json.dumps(given).encode(), capture_output=True, timeout=PATIENCE_S,
        env={**os.environ, hook.TIMEOUT_VARIABLE: "20000"},
    )  # fmt: skip


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_service_is_started_where_there_is_none_but_once_a_minute(
    event: str, workspace: Path, python: Path
) -> None:
    given = asked(workspace, hook_event_name=event)
    assert was_silent(start(python, given))
    # the pipe opens when the other side writes into it: this waits for the process
    called = (python.parent / "calls").read_text()
    assert called == f"{workspace} -P -m kds service start --auto --workspace {workspace}\n"
    assert was_silent(start(python, given))  # within the minute: no other is started
    stamp = ServiceAddress().starting_path
    assert stat.S_IMODE(stamp.stat().st_mode) == 0o600
    os.utime(stamp, (1, 1))
    assert was_silent(start(python, given))
    assert (python.parent / "calls").read_text() == called
    assert reasons(workspace) == ["no service is running"] * 3


def test_none_is_started_where_that_is_switched_off(
    workspace: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("KDS_SERVICE", "off"), ("KDS_SERVICE_AUTO", "No")):
        with monkeypatch.context() as switched:
            switched.setenv(name, value)
            assert was_silent(start(python, asked(workspace)))
    assert not ServiceAddress().starting_path.exists()
    assert reasons(workspace) == ["no service is running"] * 2


def test_a_run_imports_little(workspace: Path) -> None:
    code = (
        "import sys; from kds.hooks.client import main; main();"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    with serving(OK):
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import sys; sys.path = {sys.path!r}; {code}"],
            input=json.dumps(asked(workspace)).encode(), capture_output=True, timeout=PATIENCE_S,
        )  # fmt: skip
    assert done.stdout == REPLY
    loaded = set(done.stderr.decode().split())
    assert loaded & HEAVY == set()
    assert len({one for one in loaded if one.startswith("kds")}) <= 8
