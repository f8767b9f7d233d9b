"""What a hook asks: its input, whichever client wrote it (DESIGN 7)."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from kds.brain.errors import KdsError
from kds.brain.message import well_formed
from kds.hooks.prompt import EVENTS, is_for_routing

PROBE: Final = "kds_probe"
"""A key that no client writes: see `HookCall.probe`."""

_GOES_ON: Final = re.compile(
    r"""\b(?:
      as\ (?:we\ )?(?:discussed|agreed|said|planned|before)
    | (?:like|from|as)\ (?:last\ time|before|yesterday|earlier|the\ last\ (?:chat|session|time))
    | (?:continue|carry\ on|go\ on|keep\ going|proceed)\ (?:with|on|where|from)
    | pick(?:ing)?\ (?:it\ |this\ |that\ )?(?:back\ )?up
    | (?:where|what)\ (?:was\ i|were\ we|did\ we\ (?:leave|stop))
    | back\ to\ (?:the|our|my|work)
    | (?:last|previous|earlier|other)\ (?:session|chat|conversation|window)
    | we\ (?:were|had\ been)\ (?:working|talking|doing|on)
    )\b
    | ^\W*(?:continue|go\ on|carry\ on|keep\ going|resume)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""How the first message of a conversation says that it goes on with an earlier one."""

_NAMES: Final = ("hook_event_name", "hookEventName")
_SESSIONS: Final = ("session_id", "sessionId", "conversation_id")
_TRANSCRIPTS: Final = ("transcript_path", "transcriptPath")
_MODE: Final = "permission_mode"
_INPUT_HINT: Final = "send what Claude Code or Copilot CLI write to a hook; kds help docs/hook.md"


class HookInputError(KdsError):
    """What came is not what a client writes to its prompt hook."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """A hook's input, whichever client wrote it."""

    prompt: str
    """What the user wrote; empty when the event is no prompt."""
    cwd: str | None
    """The folder the client works in."""
    session: str | None
    """The client's name for this conversation."""
    event: str
    """``prompt``, ``start`` (of a session) or ``other``."""
    transcript: str | None = field(default=None, repr=False)
    """The file in which the client keeps what was said."""
    probe: bool = field(default=False, repr=False)
    """Whether `kds doctor` asks: the prompt is routed and not remembered."""
    planning: bool = field(default=False, repr=False)
    """Whether the client is in its plan mode, which has rules of its own."""

    @property
    def for_routing(self) -> bool:
        """Whether this is a prompt that a person wrote, and no command; see `kds.hooks.prompt`."""
        return self.event == "prompt" and is_for_routing(self.prompt)


def read_hook(raw: bytes) -> HookCall:
    """Read the input of a hook: the spellings of Claude Code, Copilot CLI and VS Code.

    Copilot CLI names no event unless asked to: with a ``prompt`` it is one, with a ``source`` the
    start of a session. Raises HookInputError.

    >>> read_hook(b'{"sessionId": "f3", "cwd": "/home/me", "prompt": "Make it purple"}')
    HookCall(prompt='Make it purple', cwd='/home/me', session='f3', event='prompt')
    """
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise HookInputError("the hook input is no JSON", hint=_INPUT_HINT) from error
    if not isinstance(data, dict):
        raise HookInputError("the hook input is no JSON object", hint=_INPUT_HINT)
    event = _event(data)
    prompt = _text(data, "prompt")
    if event == "prompt" and prompt is None:
        raise HookInputError("the hook input has no prompt", hint=_INPUT_HINT)
    session, probe = _text(data, *_SESSIONS), data.get(PROBE) is True
    transcript, planning = _text(data, *_TRANSCRIPTS), data.get(_MODE) == "plan"
    folder = _text(data, "cwd")
    return HookCall(prompt or "", folder, session, event, transcript, probe, planning)


def goes_on(message: str) -> bool:
    """Whether ``message`` says itself that it continues something.

    >>> goes_on("Continue with the FAB button"), goes_on("as discussed, use tabs")
    (True, True)
    >>> goes_on("Make it purple"), goes_on("Add a resume upload")
    (False, False)
    """
    return _GOES_ON.search(message) is not None


def _event(data: dict[str, Any]) -> str:
    name = _text(data, *_NAMES)
    if name is not None:
        return EVENTS.get(name.lower(), "other")
    return "start" if "source" in data and "prompt" not in data else "prompt"


def _text(data: dict[str, Any], *names: str) -> str | None:
    value = next((data[name] for name in names if data.get(name) is not None), None)
    if value is None or isinstance(value, str):
        return None if value is None else well_formed(value)
    raise HookInputError(f"'{names[0]}' of the hook input is no text", hint=_INPUT_HINT)
