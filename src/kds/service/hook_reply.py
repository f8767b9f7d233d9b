"""What a hook asks, and what KDS answers it: one short line, and the agent's prompt (DESIGN 7)."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from kds.brain.errors import KdsError
from kds.brain.message import well_formed
from kds.brain.turn import Turn
from kds.brain.visible import one_line
from kds.hooks.prompt import EVENTS, OWN_LINE, is_for_routing

TEXT_LIMIT: Final = 9_500
"""UTF-16 code units of what is added to a prompt. Claude Code puts a text of more than 10,000
characters (JavaScript's, which are code units) in a file and shows the model a preview of it."""

QUOTE_LIMIT: Final = 300
"""Characters of the user's message that the line quotes: the message itself stands above it."""

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
_SESSIONS: Final = ("session_id", "sessionId")
_TRANSCRIPTS: Final = ("transcript_path", "transcriptPath")
_INPUT_HINT: Final = "send what Claude Code or Copilot CLI write to a hook; see docs/hook.md"


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
    transcript = _text(data, *_TRANSCRIPTS)
    return HookCall(prompt or "", _text(data, "cwd"), session, event, transcript, probe)


def goes_on(message: str) -> bool:
    """Whether ``message`` says itself that it continues something.

    >>> goes_on("Continue with the FAB button"), goes_on("as discussed, use tabs")
    (True, True)
    >>> goes_on("Make it purple"), goes_on("Add a resume upload")
    (False, False)
    """
    return _GOES_ON.search(message) is not None


def hook_output(turn: Turn) -> dict[str, object] | None:
    """Return the JSON that the hook prints for ``turn``; None when there is nothing to say.

    Copilot CLI reads the outer key, Claude Code the inner one and ignores the other.
    """
    text = hook_text(turn)
    if text is None:
        return None
    return {
        "additionalContext": text,
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text},
    }


def hook_text(turn: Turn, *, limit: int = TEXT_LIMIT) -> str | None:
    """Return what the assistant reads beside the prompt, at most ``limit`` UTF-16 code units.

    When KDS is sure: a line that says what the message means, and the agent's prompt. When it
    has to ask: the line, the question and the candidates. Else the line alone, and only when
    it says more than the message does.
    """
    if turn.action == "route":
        line = f"{_line(turn)} ({_verdict(turn)})."
        return _capped(f"{line}\n\n{turn.prompt.strip()}", turn, limit)
    if turn.action == "clarify" and turn.question:
        candidates = _flat(", ".join(turn.candidates))
        return (
            f"{_line(turn)}, but it is not clear what to do with it. Before you act, ask the user:"
            f"\n\n{_flat(turn.question)}\n\nThe candidates are {candidates}."
        )
    return f"{_line(turn)}." if _says_more(turn) else None


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


def _line(turn: Turn) -> str:
    """The user's words and what they mean, in one line that they cannot break out of."""
    said = f"{OWN_LINE}{_quoted(turn.message)}"
    if _is_expanded(turn):
        return f'{said}" means "{_quoted(turn.expanded)}"'
    if turn.references:
        pairs = (f'"{_quoted(ref.text)}" is "{_quoted(ref.target)}"' for ref in turn.references[:5])
        return f'{said}", where {" and ".join(pairs)}'
    return f'{said}"'


def _verdict(turn: Turn) -> str:
    also = "".join(f", then {intent}" for intent in turn.secondary_intents)
    return f"{turn.intent} {turn.confidence:.2f}{also}, agent {turn.agent}"


def _is_expanded(turn: Turn) -> bool:
    return bool(turn.expanded) and turn.expanded != turn.message


def _says_more(turn: Turn) -> bool:
    return _is_expanded(turn) or bool(turn.references)


def _quoted(text: str) -> str:
    """``text`` for between double quotes: in one line, cut at QUOTE_LIMIT, no quote inside."""
    flat = _flat(text).replace('"', "'")
    return flat if len(flat) <= QUOTE_LIMIT else flat[: QUOTE_LIMIT - 1].rstrip() + "…"


def _flat(text: str) -> str:
    return one_line(text)


def _capped(text: str, turn: Turn, limit: int) -> str:
    """``text``, or as many whole lines of it as fit, and a last line that says what is missing."""
    if _units(text) <= limit:
        return text
    mark = f"[KDS: cut here. `kds prompts show {turn.agent}` prints the whole prompt of the agent.]"
    room = limit - _units(mark) - 1
    kept: list[str] = []
    for line in text.split("\n"):
        room -= _units(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, mark])


def _units(text: str) -> int:
    """The length of ``text`` as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
