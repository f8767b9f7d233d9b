"""`kds-hook`: hands a user's prompt to the service, and its answer to the assistant.

It runs before every prompt, so it imports little (`typing` would cost 8 ms, `socket` 7 ms), and
never stands in the way: whatever goes wrong, it exits with 0, prints nothing, and leaves one line
in ``kds-brain/hook.log``. What input and answer mean, the service decides (`kds.hooks.reply`).
"""

import _signal  # type: ignore[import-not-found]  # loaded anyway
import json
import os
import sys

from kds.brain.environment import find_workspace, runtime_folder
from kds.hooks.call import NoService, Trouble, connect, exchange, start_service
from kds.hooks.log import note

TIMEOUT_VARIABLE = "KDS_HOOK_TIMEOUT_MS"
TIMEOUT_MS = 1500  # a warm service answers in some ms, one that is reloading within a second
TIMEOUT_LIMIT_MS = 25_000  # of the variable: the clients kill the hook after 30 s
INPUT_LIMIT = 1_000_000  # bytes: what the service takes. A prompt beyond it is a pasted file
ANSWER_LIMIT = 2**18

USAGE = """\
kds-hook hands the prompts of an assistant to the KDS service. Claude Code, Copilot CLI and others
call it, with JSON on stdin; `kds init` sets that up.

Where no service runs it starts one in the background, for the prompts to come.
"""


def main() -> int:
    """Run the hook on stdin and stdout. Returns 0, whatever happens."""
    try:
        if {"-h", "--help"} & set(sys.argv) or (sys.stdin and os.isatty(0)):
            os.write(2, USAGE.encode())
        else:
            _guarded()
    except BaseException:  # noqa: BLE001  # such as an interrupt, or a log that cannot be written
        pass
    return 0


def _guarded() -> None:
    """Run the hook; on any trouble leave a line in the log of the workspace it was about."""
    given = os.environ.get(TIMEOUT_VARIABLE, "")
    wanted_ms = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    timeout_s = min(wanted_ms or TIMEOUT_MS, TIMEOUT_LIMIT_MS) / 1000
    folder, reason = ".", ""
    try:
        _set_alarm(timeout_s)
        content = _read_input()
        data = json.loads(content)
        if not isinstance(data, dict):
            raise Trouble("the input is not a JSON object")
        named = data.get("cwd")
        folder = named if isinstance(named, str) and named else folder
        if found := find_workspace(folder):
            _run(content, found[0], timeout_s)
    except TimeoutError:
        reason = f"no answer within {timeout_s * 1000:.0f} ms"
    except Trouble as error:
        reason = str(error)
    except (ValueError, RecursionError):
        reason = "the input is not JSON"
    except OSError as error:
        reason = f"{type(error).__name__}: {os.strerror(error.errno or 0)}"
    except BaseException as error:  # noqa: BLE001  # the prompt goes on, whatever it was
        reason = f"internal: {type(error).__name__}"
    _set_alarm(0)
    if reason and (found := find_workspace(folder)):
        note(found[1], reason)


def _run(content: bytes, root: str, timeout_s: float) -> None:
    """Print what the service has to say; start one where none is running."""
    try:
        connection = connect(runtime_folder(), timeout_s)
        try:
            status, answer = exchange(connection, "POST /hook", root, content, limit=ANSWER_LIMIT)
        finally:
            connection.close()
        if status == 503:
            raise NoService("the service is busy, or ends")
    except NoService:
        start_service(root)
        raise
    if status not in (200, 204):
        raise Trouble(f"the service answered {status}")
    while answer and sys.stdout is not None:  # None: closed, or another file by now
        answer = answer[os.write(1, answer) :]


def _read_input() -> bytes:
    if sys.stdin is None:
        raise Trouble("stdin is closed")
    content, size = b"", 0
    while chunk := os.read(0, 65_536):  # to the end: a client may not expect a closed pipe
        size += len(chunk)
        content += chunk if size <= INPUT_LIMIT else b""
    if size > INPUT_LIMIT:
        raise Trouble(f"the input is larger than {INPUT_LIMIT:,} bytes")
    return content


def _set_alarm(seconds: float) -> None:
    """Have TimeoutError raised after ``seconds``; 0 takes it back. Windows has no such alarm."""
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, _ring)
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _ring(number: int, frame: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
