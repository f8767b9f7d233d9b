"""Secrets before they leave: prompts that hold one, and calls of tools that read files of secrets.

For the setting `hook.secrets`. A hook cannot change a prompt, so one that is stopped comes with a
redacted copy to paste; only the plugin of opencode puts the copy in its place. What is not found is
let through: this catches mistakes, and keeps nobody from reading a file in another way.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from kds.brain.message import one_line, without_controls
from kds.brain.secrets.redaction import redacted
from kds.brain.secrets.value_tests import DATA
from kds.hooks.reply import NOT_TYPED, HookCall

COPY_LIMIT: Final = 8_000  # characters of a copy: of a longer prompt the lines with marks are shown
SHOWN_LINES: Final = 5
LINE_CHARS: Final = 200

SILENT: Final = ("copilot", "cursor", "opencode")
"""Clients that show their user no warning of a hook: there the model is told."""

_FILES: Final[Mapping[str, str]] = DATA["files"]
_SECRET_FILE: Final = re.compile(_FILES["secret"], re.VERBOSE)
_READING: Final = re.compile(_FILES["reading"])
_ARGUMENTS: Final = frozenset(_FILES["arguments"].split())
_PRINTING: Final = frozenset(_FILES["printing"].split())
_PATTERN_FIRST: Final = frozenset(_FILES["pattern first"].split())
_IN_PLACE: Final = re.compile(_FILES["in place"])

_MARK: Final = re.compile(r"\[secret: ([^\]\n]{1,40})\]")
_ATTACHED: Final = re.compile(r"(?<!\S)@(?P<quote>\"?)(?P<path>[^\s\"]+)(?P=quote)")
_SEPARATORS: Final = re.compile(r"[;&|\n`()]+")
_WRITTEN_TO: Final = re.compile(r"\d?>>?\s*\S+")
_READ_FROM: Final = re.compile(r"(?<!<)<\s*([^\s<>;&|]+)")
_BEFORE_PROGRAM: Final = re.compile(r"(?:sudo|do|then|\w+=\S*)$")


@dataclass(frozen=True, slots=True)
class Leak:
    """What a prompt holds that should not leave: kinds, files, and the prompt without it."""

    secrets: tuple[str, ...]
    files: tuple[str, ...]
    copy: str

    @property
    def holds(self) -> str:
        """What the user is told."""
        files = [f"the file {one}" for one in self.files]
        return f"holds a secret ({', '.join((*self.secrets, *files))})"

    @property
    def kinds(self) -> str:
        """What it is, without names that the user typed."""
        return ", ".join((*self.secrets, *(["a file"] if self.files else [])))

    @property
    def shown(self) -> str:
        """The prompt without it; of a long one the lines that held it."""
        if len(self.copy) <= COPY_LIMIT:
            return self.copy
        lines = [
            f"line {number}: {one_line(line)[:LINE_CHARS]}"
            for number, line in enumerate(self.copy.split("\n"), 1)
            if _MARK.search(line)
        ]
        return "\n".join(["(the prompt is long; these lines hold it)", *lines[:SHOWN_LINES]])


def leak_in(prompt: str) -> Leak | None:
    """Find secrets in a prompt, and files of secrets that it attaches (`@.env`).

    >>> leak_in("log in with password: hunter2").copy
    'log in with password: [secret: password]'
    """
    if prompt.lstrip().startswith(NOT_TYPED):
        return None
    prompt = without_controls(prompt)
    copy, had, files = redacted(prompt), _MARK.findall(prompt), list[str]()
    kinds = [kind for kind in _MARK.findall(copy) if kind not in had]
    if copy != prompt and not kinds:
        kinds = ["secret"]

    def detached(found: re.Match[str]) -> str:
        if not is_secret_file(found["path"]):
            return found[0]
        files.append(one_line(found["path"])[:LINE_CHARS])
        return found["path"]

    copy = _ATTACHED.sub(detached, copy)
    told = tuple(dict.fromkeys(kinds)), tuple(dict.fromkeys(files))
    return Leak(*told, copy) if any(told) else None


def is_secret_file(path: str) -> bool:
    """Whether a path has the name of a file that holds secrets.

    >>> [is_secret_file(path) for path in ("api/.env", ".env.local", ".env.example", "env.py")]
    [True, True, False, False]
    """
    name = path.strip().lower().replace("\\", "/").rstrip("*.,:?!")
    return _SECRET_FILE.search(name) is not None


def files_read(call: HookCall) -> tuple[str, ...]:
    """The files of secrets that a call of a tool would put before the model."""
    found = list[str]()
    if _READING.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.tool).lower()):
        for name in _ARGUMENTS & call.arguments.keys():
            value = call.arguments[name]
            found += map(str, value if isinstance(value, list) else [value])
    for name in ("command", "cmd"):
        if isinstance(command := call.arguments.get(name), str):
            found += _printed(command)
    return tuple(dict.fromkeys(filter(is_secret_file, found)))


def _printed(command: str) -> Iterator[str]:
    """The words of a shell's command line that name files whose content it prints."""
    yield from _READ_FROM.findall(command)
    for part in _SEPARATORS.split(_WRITTEN_TO.sub(" ", command)):
        words = [word.strip("\"'") for word in part.split()]
        while words and _BEFORE_PROGRAM.match(words[0]):
            words.pop(0)
        program = words[0].rpartition("/")[2].lower() if words else ""
        files = [word for word in words[1:] if not (word.startswith("-") or word.isdigit())]
        if program in _PRINTING:
            yield from files
        elif program in _PATTERN_FIRST and not _IN_PLACE.match(part):
            yield from (word for word in files[1:] if "\\" not in word)


def prompt_stopped(leak: Leak, client: str) -> dict[str, Any]:
    """What the hook prints to have a prompt stopped, in the form that a client reads."""
    reason = (
        f"KDS stopped this prompt, as it {leak.holds}. To send it without, paste this:\n\n"
        f"{leak.shown}\n\nKDS only warns after `kds config set hook.secrets warn`."
    )
    if client == "cursor":
        return {"continue": False, "user_message": reason}
    told: dict[str, Any] = {"decision": "block", "reason": reason}
    if client == "claude":  # else it would show the prompt once more
        own = {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
        told["hookSpecificOutput"] = own
    elif client == "copilot":  # VS Code, too, which documents these two
        told |= {"continue": False, "stopReason": reason}
    elif client == "opencode" and len(leak.copy) <= COPY_LIMIT:
        told["prompt"] = leak.copy
    return told


def prompt_warned(leak: Leak, client: str) -> tuple[dict[str, Any], str | None]:
    """Return what the hook prints to have the user warned, beside what else it says; and where a
    client shows its user no warning, a line for the model."""
    if client in SILENT:
        return {}, f"KDS: the prompt {leak.holds}; the user may not have meant to send it."
    return {"systemMessage": f"KDS: the prompt {leak.holds}. Without it:\n\n{leak.shown}"}, None


def tool_answer(
    files: tuple[str, ...], client: str, level: Literal["warn", "block"]
) -> dict[str, Any] | None:
    """What the hook prints about a call that reads files of secrets; None where that is nothing."""
    names = ", ".join(one_line(file)[:LINE_CHARS] for file in files[:SHOWN_LINES])
    if level == "warn":
        return None if client == "cursor" else {"systemMessage": f"KDS: {names} is read"}
    reason = (
        f"KDS: {names} may hold secrets, so it is not read (the setting hook.secrets). "
        "Ask the user for what is needed of it."
    )
    if client == "cursor":
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    if client == "gemini":
        return {"decision": "deny", "reason": reason}
    denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    outer = {} if client == "codex" else denied
    return {**outer, "hookSpecificOutput": {"hookEventName": "PreToolUse", **denied}}
