"""The hook as the clients run it: a process of its own, against a real socket."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from filelock import FileLock

from kds.brain.files import replace_private
from kds.hooks import call as hook_call
from kds.hooks import client as hook
from kds.hooks import start as hook_start
from kds.hooks.log import read_hook_log
from kds.hooks.prompt import OWN_LINE
from kds.hooks.trouble import LOG_LIMIT, LOG_NAME, note
from kds.service.layers import BODY_LIMIT
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S

HOOK = Path(sys.executable).with_name("kds-hook")
PROMPT = "Make it chartreuse"
OUTPUT = OWN_LINE + 'Make it chartreuse" means "Make the FAB button chartreuse".'
REPLY = json.dumps(
    {
        "additionalContext": OUTPUT,
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": OUTPUT,
        },
    }
).encode()
ALLOWED = {
    *("_json", "_socket", "encodings.utf_8_sig", "errno"),
    *("kds", "kds.hooks", "kds.hooks.client", "kds.hooks.call", "kds.hooks.json_text"),
    *("kds.hooks.prompt", "kds.hooks.start"),
    *("kds.hooks.trouble", "kds.brain", "kds.brain.discovery"),
}
"""All that a run of the hook may import beyond what `python -c pass` does."""

Answer = Callable[[socket.socket], None]
needs_unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets here")
pytestmark = needs_unix


def http(status: str, body: bytes = b"", *, length: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    size = len(body) if length is None else length
    return f"{head}Content-Length: {size}\r\nconnection: close\r\n\r\n".encode() + body


class FakeService:
    """Answers every request on a listening socket in the same way, and keeps what it was asked."""

    def __init__(self, listener: socket.socket, answer: bytes | Answer) -> None:
        self.requests: list[bytes] = []
        self._listener = listener
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        # shutdown, not close alone: it wakes the thread that waits in accept
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with closing(connection), suppress(OSError):
                self.requests.append(_request(connection))
                if callable(self._answer):
                    self._answer(connection)
                else:
                    connection.sendall(self._answer)


def _request(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        head = list(iter(lambda: stream.readline().rstrip(b"\r\n"), b""))
        sizes = [line.split()[1] for line in head if line.lower().startswith(b"content-length:")]
        body = stream.read(int(sizes[0])) if sizes else b""
    return b"\r\n".join([*head, b"", body]) if head else b""


@contextmanager
def serving(answer: bytes | Answer) -> Iterator[FakeService]:
    """Serve the user of this test."""
    address = ServiceAddress()
    address.ensure()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    hook_call.at_short(str(address.socket_path), listener.bind)
    listener.listen()
    service = FakeService(listener, answer)
    try:
        yield service
    finally:
        service.close()


def claude(folder: Path, prompt: str = PROMPT, **more: object) -> dict[str, object]:
    return {
        "session_id": "abc",
        "transcript_path": str(folder / "transcript.jsonl"),
        "cwd": str(folder),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
        **more,
    }


def copilot(folder: Path, prompt: str = PROMPT) -> dict[str, object]:
    return {"sessionId": "abc", "timestamp": 1774281852263, "cwd": str(folder), "prompt": prompt}


def run(
    given: object, *arguments: str, timeout_ms: int = 20_000, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    return subprocess.run(
        [HOOK, *arguments],
        input=content,
        capture_output=True,
        env={**os.environ, hook.TIMEOUT_VARIABLE: str(timeout_ms), **environ},
        timeout=PATIENCE_S,
    )


def was_silent(done: "subprocess.CompletedProcess[bytes]") -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def reasons(folder: Path) -> list[str]:
    return [trouble.reason for trouble in read_hook_log(folder / "kds-brain")]


# -- what it does ----------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", [claude, copilot])
def test_a_prompt_goes_to_the_service_as_written_and_the_text_of_the_answer_comes_back(
    spelling: Callable[[Path], dict[str, object]], workspace: Path
) -> None:
    written = spelling(workspace)
    with serving(http("200 OK", REPLY)) as service:
        done = run(written)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == REPLY + b"\n"
    head, _, body = service.requests[0].partition(b"\r\n\r\n")
    assert json.loads(body) == written
    assert head.startswith(b"POST /hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
    assert f"\r\nKds-Workspace: {workspace}".encode() in head
    assert reasons(workspace) == []


def test_nothing_is_printed_when_the_service_has_nothing_to_say(workspace: Path) -> None:
    with serving(b"HTTP/1.1 204 No Content\r\n\r\n") as service:
        assert was_silent(run(claude(workspace)))
    assert len(service.requests) == 1
    assert reasons(workspace) == []


CODEX = {"hook_event_name": "UserPromptSubmit", "turn_id": "t1", "model": "m"}
CURSOR = {"hook_event_name": "beforeSubmitPrompt", "conversation_id": "c1", "workspace_roots": []}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (CODEX, {"hookSpecificOutput": json.loads(REPLY)["hookSpecificOutput"]}),
        (CURSOR, {"continue": True, "additional_context": OUTPUT}),
        ({"hook_event_name": "BeforeAgent"}, json.loads(REPLY)),
    ],
    ids=["Codex", "Cursor", "Gemini CLI"],
)
def test_each_client_has_its_answer_in_the_form_that_it_reads(
    more: dict[str, object], wanted: dict[str, object], workspace: Path
) -> None:
    given = {"session_id": "s", "cwd": str(workspace), "prompt": PROMPT, **more}
    with serving(http("200 OK", REPLY)):
        assert json.loads(run(given).stdout) == wanted


def test_no_other_key_of_the_answer_is_passed_on(workspace: Path) -> None:
    more = {"decision": "block", "continue": False, "systemMessage": "Hello"}
    inner = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    answer = json.dumps({"additionalContext": OUTPUT, "hookSpecificOutput": inner, **more})
    with serving(http("200 OK", answer.encode())):
        assert run(claude(workspace)).stdout == REPLY + b"\n"


@pytest.mark.parametrize(
    "text", ["\u00e9t\u00e9 \u65e5 \U0001f680", 'a "b"\n\t\\ \x00\x7f', "\ud83d"]
)
def test_any_text_comes_back_as_it_is(text: str, workspace: Path) -> None:
    answer = json.dumps({"additionalContext": text}).encode()
    with serving(http("200 OK", answer)):
        output = json.loads(run(claude(workspace)).stdout)
    assert output["additionalContext"] == text
    assert output["hookSpecificOutput"]["additionalContext"] == text


def test_the_folder_of_the_client_decides_about_the_workspace(
    workspace: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsew\u00e9re %" / "KDS" / "kds-brain"
    (elsewhere.parent.parent / "src").mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    with serving(http("200 OK", REPLY)) as service:
        run(claude(elsewhere.parent.parent / "src"))
        run(claude(workspace), KDS_HOME=str(elsewhere))
        run(claude(workspace))
    named = [re.search(rb"Kds-Workspace: (\S+)", one) for one in service.requests]
    paths = [unquote(one[1].decode()) for one in named if one]
    assert paths == [str(elsewhere.parent), str(elsewhere.parent), str(workspace)]


def test_without_a_workspace_it_is_silent_and_makes_nothing(tmp_path: Path) -> None:
    assert was_silent(run(claude(tmp_path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prompt", ["/compact", "#file:KDS/prompts/user/kds.md Add a FAB button"])
def test_commands_and_invocations_of_kds_do_not_reach_the_service(
    prompt: str, workspace: Path
) -> None:
    with serving(http("200 OK", REPLY)) as service:
        assert was_silent(run(claude(workspace, prompt)))
    assert service.requests == []
    assert reasons(workspace) == []


def test_an_event_that_is_not_a_prompt_is_none_of_its_business(workspace: Path) -> None:
    with serving(http("200 OK", REPLY)) as service:
        for name in ("SessionStart", "Stop", "UserPromptExpansion"):
            assert was_silent(run(claude(workspace, hook_event_name=name)))
        assert was_silent(run({"sessionId": "abc", "cwd": str(workspace), "source": "new"}))
    assert b"".join(service.requests) == b""  # it only looks whether somebody is there
    assert reasons(workspace) == []


@pytest.mark.parametrize(("option", "said"), [("--help", b"kds init"), ("--version", b"kds-hook ")])
def test_somebody_who_types_its_name_reads_what_it_is(option: str, said: bytes) -> None:
    done = run(b"", option)
    assert (done.returncode, done.stdout) == (0, b"")
    assert said in done.stderr


# -- whatever goes wrong: exit 0, silence, one line in the log ---------------------------------


def test_an_unknown_option_is_written_down_and_the_prompt_served(workspace: Path) -> None:
    with serving(http("200 OK", REPLY)):
        done = run(claude(workspace), "--strat")
    assert (done.returncode, done.stdout, done.stderr) == (0, REPLY + b"\n", b"")
    assert was_silent(run(claude(workspace), "--strat"))
    assert reasons(workspace) == [
        "unknown option '--strat'",
        "unknown option '--strat'; no service is running",
    ]


def hang_up(connection: socket.socket) -> None:
    """Close without a word."""


def drag(connection: socket.socket) -> None:
    """Answer nothing until the hook has given up."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.recv(1)


def flood(connection: socket.socket) -> None:
    connection.sendall(http("200 OK", b"{" + b" " * 2 * hook_call.ANSWER_LIMIT + b"}"))


def cut_off(connection: socket.socket) -> None:
    connection.sendall(http("200 OK", REPLY)[:-10])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"hello, who is there?", "the service's answer is not HTTP"),
        (b"HTTP/1.1 OK\r\n\r\n", "the service's answer is not HTTP"),
        (http("200 OK", b"hello"), "the input is not JSON"),
        (http("200 OK", REPLY[:-1]), "the input is not JSON"),
        (http("200 OK", b"[1]"), "the service's answer is not a JSON object"),
        (http("200 OK", b'{"additionalContext": 7}'), "the service's answer has no text"),
        (http("200 OK", b'{"decision": "block"}'), "the service's answer has no text"),
        (http("200 OK", b"\xff{}"), "the input is not JSON"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "the service's answer has no length"),
        (http("503 Busy", b'{"error": {"message": "busy"}}'), "the service answered 503"),
        (http("413 Too Large"), "the service answered 413"),
        (hang_up, "the service broke off its answer"),
        (cut_off, "the service broke off its answer"),
        (flood, "the service's answer is larger than 262,144 bytes"),
    ],
)
def test_an_answer_of_another_kind_is_not_passed_on(
    answer: bytes | Answer, reason: str, workspace: Path
) -> None:
    with serving(answer):
        assert was_silent(run(claude(workspace)))
    assert reasons(workspace) == [reason]


def test_a_service_that_is_too_slow_is_not_waited_for(workspace: Path) -> None:
    with serving(drag):
        assert was_silent(run(claude(workspace), timeout_ms=300))
    assert reasons(workspace) == ["no answer within 300 ms"]


def test_a_service_that_hangs_is_asked_for_a_moment_only_until_it_is_another(
    workspace: Path,
) -> None:
    brain = workspace / "kds-brain"
    with serving(drag):
        assert was_silent(run(claude(workspace), timeout_ms=300))
        assert was_silent(run(claude(workspace)))
        assert was_silent(run(claude(workspace)))
    assert reasons(workspace) == [
        *("no answer within 300 ms", *["no answer within 200 ms, as before"] * 2)
    ]
    ServiceAddress().socket_path.unlink()

    def slow(connection: socket.socket) -> None:
        time.sleep(3 * hook.HUNG_TIMEOUT_MS / 1000)
        connection.sendall(http("200 OK", REPLY))

    with serving(slow):
        assert run(claude(workspace)).stdout == REPLY + b"\n"
    assert stat.S_IMODE((brain / hook_call.HUNG_NAME).stat().st_mode) == 0o600


def test_a_service_that_hung_and_answers_again_is_heard(workspace: Path) -> None:
    with serving(http("200 OK", REPLY)):
        places = str(workspace / "kds-brain"), str(ServiceAddress().folder)
        hook_call.note_hung(*places)
        assert hook_call.has_hung(*places)
        assert run(claude(workspace)).stdout == REPLY + b"\n"


def test_the_note_of_a_hang_does_not_go_through_a_link(workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    target.write_text("theirs")
    (workspace / "kds-brain" / hook_call.HUNG_NAME).symlink_to(target)
    with serving(drag):
        assert was_silent(run(claude(workspace), timeout_ms=300))
        assert was_silent(run(claude(workspace), timeout_ms=301))
    assert target.read_text() == "theirs"
    assert reasons(workspace) == ["no answer within 300 ms", "no answer within 301 ms"]


def test_an_answer_in_small_pieces_is_put_together(workspace: Path) -> None:
    def trickle(connection: socket.socket) -> None:
        for byte in http("200 OK", REPLY):
            connection.sendall(bytes([byte]))

    with serving(trickle):
        assert run(claude(workspace)).stdout == REPLY + b"\n"


def test_without_a_service_it_is_silent_and_says_so_in_the_log(workspace: Path) -> None:
    assert was_silent(run(claude(workspace)))
    with serving(b""):
        pass  # the socket of a service that is gone stays
    assert was_silent(run(claude(workspace)))
    assert reasons(workspace) == ["no service is running"] * 2
    assert not ServiceAddress().starting_path.exists()


@pytest.mark.parametrize("wrong", ["mode", "link"])
def test_a_runtime_folder_that_others_may_write_to_is_not_trusted(
    wrong: str, workspace: Path, tmp_path: Path
) -> None:
    with serving(http("200 OK", REPLY)) as service:
        folder = ServiceAddress().folder
        if wrong == "mode":
            folder.chmod(0o777)
        else:
            folder.rename(tmp_path / "moved")
            folder.symlink_to(tmp_path / "moved")
        assert was_silent(run(claude(workspace)))
    assert service.requests == []
    assert len(reasons(workspace)) == 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (b"", "the input is not JSON"),
        (b'{"prompt": "Make', "the input is not JSON"),
        (b'{"prompt": "Make it"} {}', "the input is not JSON"),
        (b"\xff\xfe\x00", "the input is not JSON"),
        (b'{"a":' * 50_000, "the input is not JSON"),
        (b"[]", "the input is not a hook's input"),
        (b"{}", "the input is not a hook's input"),
        (b'{"prompt": 7}', "the input is not a hook's input"),
        (b'{"hook_event_name": "UserPromptSubmit"}', "the input has no prompt"),
        (b" " * 2**21, "the input is larger than 1,000,000 bytes"),
    ],
    ids=range(10),
)
def test_input_of_another_kind_is_let_pass(given: bytes, reason: str, workspace: Path) -> None:
    assert was_silent(run(given))
    assert reasons(workspace) == [reason]


@pytest.mark.parametrize("cwd", ["\0", "\ud800", "x" * 5000])
def test_a_folder_that_cannot_be_one_is_let_pass(cwd: str, workspace: Path) -> None:
    assert was_silent(run(claude(workspace, cwd=cwd)))
    assert len(reasons(workspace)) <= 1


def test_a_byte_order_mark_before_the_input_is_not_trouble(workspace: Path) -> None:
    with serving(http("200 OK", REPLY)):
        given = b"\xef\xbb\xbf" + json.dumps(claude(workspace)).encode()
        assert run(given).stdout == REPLY + b"\n"


def test_a_stdin_that_never_ends_is_not_waited_for(workspace: Path) -> None:
    process = subprocess.Popen(
        [HOOK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, hook.TIMEOUT_VARIABLE: "300"},
    )
    assert process.stdin is not None
    assert process.wait(timeout=PATIENCE_S) == 0
    assert process.communicate() == (b"", b"")
    assert reasons(workspace) == ["stdin did not end in time"]


@pytest.mark.parametrize(
    "redirection", ["<&-", ">&-", "<&- >&- 2>&-", ">/dev/full", "| true", "2>&- <&-"]
)
def test_streams_that_are_closed_or_full_are_not_trouble_to_the_client(
    redirection: str, workspace: Path
) -> None:
    given = workspace / "given.json"
    given.write_text(json.dumps(claude(workspace)))
    with serving(http("200 OK", REPLY)):
        done = subprocess.run(
            ["bash", "-c", f'set -o pipefail; "$0" < given.json {redirection}', HOOK],
            capture_output=True,
            timeout=PATIENCE_S,
        )
    assert was_silent(done)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_an_interrupt_ends_it_in_silence(number: signal.Signals, workspace: Path) -> None:
    asked = threading.Event()

    def wait(connection: socket.socket) -> None:
        asked.set()
        connection.recv(1)

    with serving(wait):
        process = subprocess.Popen(
            [HOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, hook.TIMEOUT_VARIABLE: "20000"},
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(claude(workspace)).encode())
        process.stdin.close()
        process.stdin = None
        assert asked.wait(PATIENCE_S)
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE_S) == (b"", b"")
        assert process.returncode == 0
    assert len(reasons(workspace)) == 1


def test_a_log_that_cannot_be_written_is_not_trouble_to_the_client(workspace: Path) -> None:
    (workspace / "kds-brain" / LOG_NAME).mkdir()
    assert was_silent(run(claude(workspace)))


def test_the_log_is_not_written_through_a_link(workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "somebody-else's"
    target.touch()
    (workspace / "kds-brain" / LOG_NAME).symlink_to(target)
    assert was_silent(run(claude(workspace)))
    assert target.read_bytes() == b""


def test_the_log_is_private_and_never_holds_the_prompt(workspace: Path) -> None:
    for answer in (http("500 " + PROMPT, REPLY), b"HTTP/1.1 Make it chartreuse\r\n\r\n", REPLY):
        ServiceAddress().socket_path.unlink(missing_ok=True)
        with serving(answer):
            assert was_silent(run(claude(workspace)))
    assert was_silent(run(PROMPT.encode()))
    log = workspace / "kds-brain" / LOG_NAME
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert len(reasons(workspace)) == 4
    assert "chartreuse" not in log.read_text()


def test_the_log_keeps_its_newer_half_when_it_is_full(workspace: Path) -> None:
    brain = workspace / "kds-brain"
    for number in range(3000):
        note(str(brain), f"trouble {number}")
    assert (brain / LOG_NAME).stat().st_size <= LOG_LIMIT + 100
    kept = reasons(workspace)
    assert kept == [f"trouble {number}" for number in range(3000 - len(kept), 3000)]
    assert len(kept) > 500
    assert [path.name for path in brain.iterdir()] == [LOG_NAME]


@pytest.mark.parametrize(
    ("wanted", "limit_ms"),
    [("250", 250), ("999999", hook.TIMEOUT_LIMIT_MS)]
    + [(none, hook.TIMEOUT_MS) for none in ("", "soon", "-5", "0", "99999999999999999999")],
)
def test_a_time_limit_is_kept_to_where_it_makes_sense_and_is_below_that_of_the_clients(
    wanted: str, limit_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hook.TIMEOUT_VARIABLE, wanted)
    assert hook._timeout_s() == limit_ms / 1000


# -- HTTP on loopback, where there are no unix sockets ----------------------------------------


@contextmanager
def serving_tcp(*, lock: bool = True) -> Iterator[FakeService]:
    address = ServiceAddress()
    address.ensure()
    listener = socket.create_server(("127.0.0.1", 0))
    state = {"pid": 1, "http": {"host": "127.0.0.1", "port": listener.getsockname()[1]}}
    replace_private(address.state_path, json.dumps(state).encode())
    replace_private(address.token_path, b"s3cret\n")
    service = FakeService(listener, http("200 OK", REPLY))
    try:
        with FileLock(address.lock_path, mode=0o600) if lock else nullcontext():
            yield service
    finally:
        service.close()


def test_without_a_unix_socket_it_asks_the_http_side_with_its_token(workspace: Path) -> None:
    with serving_tcp() as service:
        assert run(claude(workspace)).stdout == REPLY + b"\n"
    assert b"\r\nAuthorization: Bearer s3cret\r\n" in service.requests[0]


def test_an_address_that_a_dead_service_left_is_not_asked(workspace: Path) -> None:
    with serving_tcp(lock=False) as service:
        assert was_silent(run(claude(workspace)))
    assert service.requests == []
    assert reasons(workspace) == ["no service is running"]


@pytest.mark.parametrize("state", ["", "[]", '{"http": null}', '{"http": {"port": "x"}}'])
def test_a_service_without_an_http_side_is_none(state: str, workspace: Path) -> None:
    with serving_tcp() as service:
        ServiceAddress().state_path.write_text(state)
        assert was_silent(run(claude(workspace)))
    assert service.requests == []
    assert len(reasons(workspace)) == 1


# -- starting the service ---------------------------------------------------------------------


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the Python that would start a service: writes down how it was called."""
    monkeypatch.delenv("KDS_SERVICE_AUTO")
    script = tmp_path / "python"
    calls, handed = tmp_path / "calls", tmp_path / "handed"
    os.mkfifo(calls)
    os.mkfifo(handed)
    script.write_text(
        f'#!/bin/sh\ncase "$*" in\n*hand-over*) cat > "{handed}" ;;\n'
        f'*) echo "$PWD $*" > "{calls}" ;;\nesac\n'
    )
    script.chmod(0o755)
    return script


def start(
    python: Path, given: dict[str, Any], *arguments: str
) -> "subprocess.CompletedProcess[bytes]":
    run = "from kds.hooks.client import main; main()"
    code = f"import sys; sys.executable = {str(python)!r}; {run}"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        env={**os.environ, hook.TIMEOUT_VARIABLE: "20000"},
    )


def assert_handed_over(python: Path, given: dict[str, Any]) -> None:
    """A prompt is passed on, whole and over a pipe alone; the start of a session is not."""
    if given["hook_event_name"] == "UserPromptSubmit":
        assert json.loads((python.parent / "handed").read_bytes()) == given


@pytest.mark.parametrize("event", ["SessionStart", "sessionStart", "UserPromptSubmit"])
def test_a_service_is_started_where_there_is_none_but_once_a_minute(
    event: str, workspace: Path, python: Path
) -> None:
    given = claude(workspace, hook_event_name=event)
    assert was_silent(start(python, given))
    # the pipe opens when the other side writes into it: this waits for the process
    called = (python.parent / "calls").read_text()
    assert called == f"{workspace} -P -m kds service start --auto --workspace {workspace}\n"
    assert_handed_over(python, given)
    assert was_silent(start(python, given))  # within the minute: no other is started
    assert_handed_over(python, given)
    stamp = ServiceAddress().starting_path
    assert stat.S_IMODE(stamp.stat().st_mode) == 0o600
    os.utime(stamp, (1, 1))
    assert was_silent(start(python, given))
    assert (python.parent / "calls").read_text() == called
    assert_handed_over(python, given)
    expected = ["no service is running"] * 3 if event == "UserPromptSubmit" else []
    assert reasons(workspace) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("KDS_SERVICE", "off"), ("KDS_SERVICE_AUTO", "No"), (None, "--no-start")]
)
def test_none_is_started_where_that_is_switched_off(
    name: str | None, value: str, workspace: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is not None:
        monkeypatch.setenv(name, value)
    assert was_silent(start(python, claude(workspace), *(() if name else (value,))))
    assert not ServiceAddress().starting_path.exists()
    assert reasons(workspace) == ["no service is running"]


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """What would have been started, and what was handed to it."""
    found: list[tuple[str, bytes]] = []
    monkeypatch.delenv("KDS_SERVICE_AUTO")

    def spawn(_: str, *words: str, content: bytes = b"") -> None:
        found.append((words[0], content))

    monkeypatch.setattr(hook_start, "_spawn", spawn)
    return found


@pytest.mark.parametrize(
    ("age_s", "starts"), [(None, True), (0, False), (2 * hook_start.PAUSE_S, True), (-3600, True)]
)
def test_a_start_waits_for_the_one_before(
    age_s: float | None, starts: bool, workspace: Path, spawned: list[tuple[str, bytes]]
) -> None:
    stamp = ServiceAddress().starting_path
    if age_s is not None:
        ServiceAddress().ensure()
        stamp.touch()
        os.utime(stamp, (time.time() - age_s,) * 2)
    brain = workspace / "kds-brain"
    assert hook_start.start_service(str(workspace), str(brain)) is starts
    assert spawned == [("start", b"")] * starts


@pytest.mark.parametrize(
    ("age_s", "settings", "auto", "starts"),
    [
        (60, "older", "", False),
        (60, "newer", "", True),
        (60, "older", "on", True),
        (hook_start.DECLINED_S + 1, "older", "", True),
    ],
)
def test_a_refusal_holds_until_the_settings_change(
    age_s: float,
    settings: str,
    auto: str,
    starts: bool,
    workspace: Path,
    spawned: list[tuple[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KDS_SERVICE_AUTO", auto)
    brain = workspace / "kds-brain"
    file, mark = brain / "settings.yaml", brain / hook_start.DECLINED_NAME
    file.write_text("service: {auto: false}")
    hook_start.leave_word(str(mark))
    marked = time.time() - age_s
    os.utime(mark, (marked, marked))
    os.utime(file, (marked + (1 if settings == "newer" else -1),) * 2)
    assert hook_start.start_service(str(workspace), str(brain), b"x") is starts
    assert spawned == [("start", b""), ("hand-over", b"x")] * starts


def test_a_prompt_is_handed_over_unless_it_is_long(
    workspace: Path, spawned: list[tuple[str, bytes]]
) -> None:
    for given in (b"x", b"", b"x" * 20_000):
        hook_start.start_service(str(workspace), str(workspace / "kds-brain"), given)
    assert spawned == [("start", b""), ("hand-over", b"x")]


def test_a_service_that_runs_is_not_started_again(workspace: Path, python: Path) -> None:
    with serving(http("200 OK", REPLY)):
        assert was_silent(start(python, claude(workspace, hook_event_name="SessionStart")))
        assert start(python, claude(workspace)).stdout == REPLY + b"\n"
    assert not ServiceAddress().starting_path.exists()


def test_of_hooks_at_the_same_moment_one_starts_a_service(workspace: Path) -> None:
    stamp = str(workspace / "stamp")
    outcomes: list[bool] = []
    barrier = threading.Barrier(8)

    def compete() -> None:
        barrier.wait()
        outcomes.append(hook_start._may_start(stamp))

    threads = [threading.Thread(target=compete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 7 + [True]


# -- what it consists of ----------------------------------------------------------------------


def test_a_run_imports_nothing_beyond_a_short_list(workspace: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); from kds.hooks.client import main; main();"
        "sys.stderr.write(' '.join(set(sys.modules) - before))"
    )
    with serving(http("200 OK", REPLY)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(claude(workspace)).encode(),
            capture_output=True,
            timeout=PATIENCE_S,
        )
    assert done.stdout == REPLY + b"\n"
    assert set(done.stderr.decode().split()) <= ALLOWED


def test_what_it_repeats_of_other_modules_is_equal() -> None:
    address = ServiceAddress()
    source = Path(hook_call.__file__).read_text()
    for path in (address.socket_path, address.state_path, address.lock_path):
        assert f'"{path.name}"' in source
    assert hook.INPUT_LIMIT == BODY_LIMIT


def test_the_installed_command_is_the_one_tested() -> None:
    assert shutil.which(str(HOOK)), f"{HOOK} is missing: install kds into this environment"
