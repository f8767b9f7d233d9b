"""`kds-hook`: hands a user's prompt to the service, and its answer to the assistant.

It runs before every prompt, so it has to be cheap and must never stand in the way: whatever
goes wrong, it exits with 0, prints nothing, and leaves one line in ``kds-brain/hook.log``.

The `hook*` modules that it consists of import what Python has loaded by then, and the C halves
of two modules of the standard library. On CPython 3.11 `json` costs 7 ms of CPU (for `re` and
`enum`), `socket` 7 ms (for `selectors` and `enum`) and `typing` 8 ms; `_json` and `_socket` cost
1 ms together. The search for the workspace is `kds.brain.discovery`, which is as light; what else
they share with other modules is written here once more. Tests hold both equal, and the imports.
"""

import _signal  # type: ignore[import-not-found]  # loaded anyway; `signal` costs 5 ms, for `enum`
import os
import sys
import time

from kds.brain.discovery import find_workspace, own_folder, runtime_folder
from kds.hooks.call import TOKEN_NAME, ask, connect, has_hung, note_hung
from kds.hooks.json_text import parsed, written
from kds.hooks.prompt import EVENTS, is_for_routing
from kds.hooks.start import start_service
from kds.hooks.trouble import Late, NoService, Trouble, note, reason_for

TIMEOUT_VARIABLE = "KDS_HOOK_TIMEOUT_MS"
TIMEOUT_MS = 1500
"""A warm service answers in some ms, one that is reloading its rules within a second. The clients
give a prompt hook 30 s (Claude Code and Copilot CLI): a person should not wait that long."""

HUNG_TIMEOUT_MS = 200
"""For a service that let a prompt wait in vain and has answered none since: enough for one that is
well again, and little to wait with every prompt for one that is not."""

TIMEOUT_LIMIT_MS = 25_000
"""What the environment may ask for: below the 30 s after which the clients kill the hook."""

INPUT_LIMIT = 1_000_000
"""Bytes of hook input: what the service takes. A prompt beyond it is a pasted file."""

OUTPUT = (
    b'{"additionalContext": %(text)s, "hookSpecificOutput": '
    b'{"hookEventName": "UserPromptSubmit", "additionalContext": %(text)s}}\n'
)
"""As in `kds.hooks.reply`: Copilot CLI reads the outer key, Claude Code the inner."""

CODEX_OUTPUT = (
    b'{"hookSpecificOutput": '
    b'{"hookEventName": "UserPromptSubmit", "additionalContext": %(text)s}}\n'
)
"""Codex refuses an output with a key that it does not know."""

CURSOR_OUTPUT = b'{"continue": true, "additional_context": %(text)s}\n'

NO_START = "--no-start"

USAGE = """\
kds-hook hands the prompts of an assistant to the KDS service of the workspace. Claude Code
and Copilot CLI call it, with JSON on stdin; `kds init` sets that up.

Where no service runs it starts one in the background, for the prompts to come.

  --no-start  start none
"""


def main() -> int:
    """Run the hook on stdin and stdout. Returns 0, whatever happens."""
    try:
        given = sys.argv[1:]
        if "--version" in given:
            os.write(2, f"kds-hook {_version()}\n".encode())
        elif {"-h", "--help"} & set(given) or (sys.stdin and os.isatty(0)):
            os.write(2, USAGE.encode())
        else:
            unknown = [f"unknown option {one[:40]!a}" for one in given if one != NO_START]
            _guarded(start=NO_START not in given, remarks=unknown)
    except BaseException:  # noqa: BLE001  # an interrupt just then, a log that cannot be written
        return 0
    return 0


def _version() -> str:
    from importlib.metadata import version  # 30 ms, only for --version

    return version("kds-router")


def _guarded(*, start: bool, remarks: list[str]) -> None:
    """Run the hook; on any trouble leave a line in the log of the workspace it was about.

    ``remarks`` are what was wrong before: a hook does its work all the same.
    """
    timeout_s = _timeout_s()
    folders = ["."]  # the last one is what is known of the user's folder when it goes wrong
    try:
        _set_alarm(timeout_s)
        _run(folders, time.monotonic() + timeout_s, start=start)
        _set_alarm(0)
    except BaseException as error:  # noqa: BLE001  # the prompt goes on, whatever it was
        _set_alarm(0)
        remarks = [*remarks, reason_for(error, timeout_s)]
    if remarks and (found := find_workspace(folders[-1])):
        note(found[1], "; ".join(remarks))


def _run(folders: list[str], ends: float, *, start: bool) -> None:
    content = _read_input()
    data = parsed(content)
    if not isinstance(data, dict):
        raise Trouble("the input is not a hook's input")
    found = _workspace_of(data, folders)
    event = _event(data)
    if found is None or not _concerns_us(event, data.get("prompt"), start=start):
        return
    root, brain = found
    prompt = content if event == "prompt" else b""
    try:
        answer = _asked(root, brain, prompt, ends)
    except NoService:
        if start:
            start_service(root, brain, prompt)
        if not prompt:
            return
        raise
    _print(answer, _form(data))


def _asked(root: str, brain: str, prompt: bytes, ends: float) -> bytes:
    folder = runtime_folder()
    hung = has_hung(brain, folder)
    if hung:
        ends = min(ends, time.monotonic() + HUNG_TIMEOUT_MS / 1000)
    try:
        call = connect(folder, os.path.join(own_folder(), TOKEN_NAME), ends)
        try:
            return ask(call, root, prompt, ends) if prompt else b""
        finally:
            call.connection.close()
    except (Late, TimeoutError):
        note_hung(brain, folder)
        if hung:
            raise Trouble(f"no answer within {HUNG_TIMEOUT_MS} ms, as before") from None
        raise


def _form(data: dict[str, object]) -> bytes:
    """In which form the client wants its answer: Codex alone numbers turns."""
    if "turn_id" in data:
        return CODEX_OUTPUT
    return CURSOR_OUTPUT if data.get("hook_event_name") == "beforeSubmitPrompt" else OUTPUT


def _workspace_of(data: dict[str, object], folders: list[str]) -> tuple[str, str] | None:
    """The workspace of the client's folder, which joins ``folders`` once it can be one."""
    folder = data.get("cwd")
    if not (isinstance(folder, str) and folder):
        return find_workspace(folders[0])
    found = find_workspace(folder)
    folders.append(folder)
    return found


def _event(data: dict[str, object]) -> str:
    """``prompt``, ``start`` or ``other``, in the spellings of the clients.

    Copilot CLI says no name unless its event is configured in the spelling of Claude Code; the
    start of a session has a ``source`` there, and no ``prompt``.
    """
    name = data.get("hook_event_name") or data.get("hookEventName")
    if isinstance(name, str):
        return EVENTS.get(name.lower(), "other")
    if isinstance(data.get("prompt"), str):
        return "prompt"
    if "source" in data:
        return "start"
    raise Trouble("the input is not a hook's input")


def _concerns_us(event: str, prompt: object, *, start: bool) -> bool:
    if event == "prompt":
        if not isinstance(prompt, str):
            raise Trouble("the input has no prompt")
        return is_for_routing(prompt)
    return event == "start" and start


def _read_input() -> bytes:
    if sys.stdin is None:
        raise Trouble("stdin is closed")
    parts, size = [], 0
    try:
        while chunk := os.read(0, 65_536):  # to the end: a client may not expect a closed pipe
            size += len(chunk)
            if size <= INPUT_LIMIT:
                parts.append(chunk)
    except Late:
        raise Trouble("stdin did not end in time") from None
    if size > INPUT_LIMIT:
        raise Trouble(f"the input is larger than {INPUT_LIMIT:,} bytes")
    return b"".join(parts)


def _print(answer: bytes, form: bytes) -> None:
    """Write the text of the service's answer, and no other key of it, if somebody listens.

    A client obeys other keys too: Claude Code takes ``decision`` and ``continue`` from a hook.
    """
    if not answer or sys.stdout is None:  # None: descriptor 1 is closed, or another file by now
        return
    data = parsed(answer)
    if not isinstance(data, dict):
        raise Trouble("the service's answer is not a JSON object")
    text = data.get("additionalContext")
    if not isinstance(text, str):
        raise Trouble("the service's answer has no text")
    rest = form % {b"text": written(text)}
    while rest:
        rest = rest[os.write(1, rest) :]


def _timeout_s() -> float:
    given = os.environ.get(TIMEOUT_VARIABLE, "")
    wanted_ms = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    return min(wanted_ms or TIMEOUT_MS, TIMEOUT_LIMIT_MS) / 1000


def _set_alarm(seconds: float) -> None:
    """Have `Late` raised after ``seconds``, wherever the hook is then; 0 takes it back.

    Sockets have time limits of their own; this one is for a stdin that never ends. Windows has
    no such alarm.
    """
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, _ring)
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _ring(number: int, frame: object) -> None:
    raise Late


if __name__ == "__main__":
    sys.exit(main())
