"""The conversation so far, out of the transcript that an assistant names to its hooks.

The file is read from its end, message by message and not further than READ_BYTES; nothing of it is
stored, and what cannot be read is as good as no transcript.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from kds.brain.message import well_formed
from kds.brain.turn import Utterance

READ_BYTES: Final = 4_194_304
"""How far back the messages are looked for: beyond several pastes of 100 kB and the results of
tools, which clients write down up to three times. Reading so much takes some 10 ms."""

NOT_SAID: Final = ("<environment_context>", "<session_context>", "<hook_context>")
"""What Codex and Gemini CLI tell the model in the name of the user."""

KEPT: Final = 20
"""Messages and replies that are kept, the newest."""

HEAD_CHARS: Final = 200
TAIL_CHARS: Final = 400
"""Of a reply: what it set out to do, and its summary and question."""

CUT: Final = "\n[...]\n"

_ROLES: Final[Mapping[str, Literal["user", "assistant"]]] = {
    "user": "user",
    "assistant": "assistant",
    "user.message": "user",
    "assistant.message": "assistant",
    "gemini": "assistant",
}
"""By the ``type`` of a line. Claude Code has the content in ``message``, the Copilot CLI in
``data``, Codex (which names the role there) in ``payload``, Gemini CLI in the line itself."""


def read_transcript(path: str, *, prompt: str = "") -> tuple[Utterance, ...]:
    """What was said before ``prompt``, oldest first; nothing if ``path`` is not such a file.

    Replies are cut to head and tail. A file of somebody else's, a link or a pipe is not read.
    """
    newest_first: list[Utterance] = []
    for role, text in _messages(_lines_backwards(path)):
        if not newest_first and role == "user" and text == prompt.strip():
            prompt = ""  # the client may have written down what it is about to send
        elif role == "assistant" and newest_first and newest_first[-1].role == "assistant":
            newest_first[-1] = Utterance(f"{text}\n{newest_first[-1].text}", "assistant")
        elif len(newest_first) == KEPT:
            break
        else:
            newest_first.append(Utterance(text, role))
    return tuple(Utterance(shortened(one.text), one.role) for one in reversed(newest_first))


def shortened(text: str) -> str:
    """A long text as its head and its tail."""
    short = len(text) <= HEAD_CHARS + TAIL_CHARS
    return text if short else f"{text[:HEAD_CHARS]}{CUT}{text[-TAIL_CHARS:]}"


def _lines_backwards(path: str) -> list[bytes]:
    """The whole lines of an ordinary file of this user, from its end, within READ_BYTES."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            foreign = hasattr(os, "getuid") and found.st_uid != os.getuid()
            if foreign or not stat.S_ISREG(found.st_mode):
                return []
            first = max(0, found.st_size - READ_BYTES)
            file.seek(first)
            lines = file.read(READ_BYTES).split(b"\n")
    except (OSError, ValueError):
        return []
    return lines[: 0 if first else None : -1]


def _messages(lines: Iterable[bytes]) -> Iterator[tuple[Literal["user", "assistant"], str]]:
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict) or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        role, message = _said(entry)
        text = text_of(message)
        if role is not None and text and not text.startswith(NOT_SAID):
            yield role, text


def _said(entry: Mapping[str, Any]) -> tuple[Literal["user", "assistant"] | None, Any]:
    """Whose words a line holds, if anybody's, and the part of it that has them."""
    holders = (entry[key] for key in ("message", "data", "payload") if key in entry)
    message, kind = next(holders, entry), entry.get("type")
    if kind == "response_item" and isinstance(message, dict):
        kind = message.get("role")
    return _ROLES.get(str(kind)), message


def text_of(message: Any) -> str:
    """The words of a message; results of tools, pictures and thoughts are none."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        kinds = ("text", "input_text", "output_text", None)
        parts = [one for one in content if isinstance(one, dict) and one.get("type") in kinds]
        texts = (str(one.get("text", "")) for one in parts)
        content = "\n".join(text for text in texts if not text.startswith(NOT_SAID))
    return well_formed(content).strip() if isinstance(content, str) else ""
