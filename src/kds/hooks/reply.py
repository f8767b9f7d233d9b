"""What a client's hook sends, and what KDS answers: nothing as a rule, a hint when it is sure.

What a hook adds stays in the conversation for good, beside the client's own rules. So it is worth
a line only where the model lacks something, and never an order.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kds.activation.discovery import Entry
from kds.brain.errors import KdsError
from kds.brain.message import one_line, well_formed
from kds.brain.turn import Turn

EVENTS: Final = {
    name: event
    for event, names in (
        ("prompt", "userpromptsubmit userpromptsubmitted beforeagent beforesubmitprompt"),
        ("start", "sessionstart"),
        ("end", "stop agentstop afteragent sessionend precompact precompress"),  # of turns, too
        ("tool", "pretooluse beforetool beforereadfile beforeshellexecution"),
    )
    for name in names.split()
}
"""The clients' names for the events that KDS knows, in lower case."""

_BY_KEYS: Final = {"prompt": "prompt", "toolName": "tool", "source": "start",
                   "stopReason": "end", "reason": "end", "trigger": "end"}  # fmt: skip
"""The events of Copilot CLI, whose input does not name them."""

_CLIENT_OF: Final = {
    "beforeagent": "gemini", "beforetool": "gemini", "beforesubmitprompt": "cursor",
    "beforereadfile": "cursor", "beforeshellexecution": "cursor",
}  # fmt: skip
"""Events that one client has alone."""

OWN_LINE: Final = 'KDS: "'
OWN_LINES: Final = (OWN_LINE, "KDS: the ", "KDS: in an earlier session")
"""How every line begins that KDS adds to a conversation."""

NOT_TYPED: Final = (
    "<task-notification", "<agent-message", "<cross-session-message", "<teammate-message",
    "Another Claude session sent a message:",
)  # fmt: skip
"""How prompts begin that Claude Code hands to the hook although nobody has typed them
(anthropics/claude-code issue 94675)."""

_LEFT_ALONE: Final = {
    "!": "a command of the shell",
    "#memory": "a note to the client's memory",
    **dict.fromkeys(OWN_LINES, "a line of KDS itself"),
    **dict.fromkeys(NOT_TYPED, "nobody typed it"),
}
"""How prompts begin that are not routed, and what they are."""

_OWN_PROMPT: Final = re.compile(
    r"""(?:\#file:|@)[@\ "']*(?:(?:(?!\.md)[^\n])*/)?(?:prompts/(?:user|internal)/[^/\n]*?
    |kds|intent-router|conversation-context-manager|clear-conversation)\.md""",
    re.IGNORECASE | re.VERBOSE,
)
"""A prompt of KDS, also without its folder: the assistant calls `kds route` itself then."""

PROBE: Final = "kds_probe"
"""A key that no client writes: `kds doctor` asks. The prompt is routed and not remembered."""
PROBED: Final = "KDS: a prompt comes through."

GOES_ON: Final = re.compile(
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

PROMPT_LIMIT: Final = 1_000  # characters: a longer prompt says by itself what it is about
MOST_HINTS: Final = 2
QUOTE_LIMIT: Final = 48
"""Characters of a word and of what it stands for: two hints have at most 245, some 60 tokens."""

TRACE: Final = re.compile(
    r"^Traceback \(most recent call last\)|^\s+at \S.*[:(]\d+|^\s*File \".*\", line \d+"
    r"|^(?:\w+\.)*\w*(?:Error|Exception|Panic)\b.*:",
    re.MULTILINE,
)


class HookInputError(KdsError):
    """The input is not what a client writes to its prompt hook."""

    def __init__(self, message: str) -> None:
        hint = "send what Claude Code or Copilot CLI write to a hook; kds help docs/hook.md"
        super().__init__(message, hint=hint)


@dataclass(frozen=True, slots=True)
class HookCall:
    """A hook's input, whichever client wrote it."""

    prompt: str
    cwd: str | None
    session: str | None  # the client's name for the conversation
    event: str  # "prompt", "start", "end", "tool" (about to be called) or "other"
    transcript: str | None = None  # the file in which the client keeps what was said
    probe: bool = field(default=False, repr=False)  # `kds doctor` asks
    planning: bool = field(default=False, repr=False)  # the client's plan mode has its own rules
    compacted: bool = field(default=False, repr=False)  # begins anew, its conversation condensed
    client: str = field(default="claude", repr=False, compare=False)
    tool: str = field(default="", repr=False)
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def read_hook(raw: bytes) -> HookCall:
    """Read the input of a hook in the spelling of any client. Raises HookInputError.

    >>> read_hook(b'{"sessionId": "f3", "prompt": "Make it purple"}').session
    'f3'
    """
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise HookInputError("the hook input is not JSON") from error
    if not isinstance(data, dict):
        raise HookInputError("the hook input is not a JSON object")
    name = _text(data, "hook_event_name", "hookEventName")
    event = next((_BY_KEYS[key] for key in _BY_KEYS if key in data), "prompt")
    if name:
        event = EVENTS.get(name.lower(), "other")
    prompt = _text(data, "prompt")
    if event == "prompt" and prompt is None:
        raise HookInputError("the hook input has no prompt")
    transcript = _text(data, "transcript_path", "transcriptPath")
    tool, arguments = _tool(data) if event == "tool" else ("", {})
    return HookCall(
        prompt=prompt or "",
        cwd=_text(data, "cwd"),
        session=_text(data, "session_id", "sessionId", "conversation_id"),
        event=event,
        transcript=transcript,
        probe=data.get(PROBE) is True,
        planning=data.get("permission_mode") == "plan",
        compacted=data.get("source") == "compact",
        client=_client(data, (transcript or "").rpartition("/")[2]),
        tool=tool,
        arguments=arguments,
    )


def _client(data: dict[str, Any], transcript: str) -> str:
    """Who wrote the input: each client spells it in its own way (docs/hook.md)."""
    if known := _CLIENT_OF.get(str(data.get("hook_event_name")).lower()):
        return known
    if "turn_id" in data or transcript.startswith("rollout-"):  # at a start there is no turn yet
        return "codex"
    if data.get("client") == "opencode":
        return "opencode"
    return "copilot" if "sessionId" in data else "claude"


def _tool(data: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Name and arguments of a call. Cursor has events in the place of tools, and no folder of
    arguments; Copilot CLI may write them as JSON."""
    given = next((data[name] for name in ("tool_input", "toolArgs") if name in data), data)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {}
    tool = _text(data, "tool_name", "toolName") or ("read" if "file_path" in data else "")
    return tool, given if isinstance(given, dict) else {}


def _text(data: dict[str, Any], *names: str) -> str | None:
    value = next((data[name] for name in names if data.get(name) is not None), None)
    if value is None or isinstance(value, str):
        return value and well_formed(value)
    raise HookInputError(f"'{names[0]}' of the hook input is not text")


def left_alone(prompt: str) -> str | None:
    """Say why ``prompt`` is not routed; None where a person wrote it, in words of their own.

    >>> [left_alone(text) for text in ("/kds plan it", "/etc/hosts is wrong", "!ls", "#42 fails")]
    ['a command of the client', None, 'a command of the shell', None]
    """
    text = prompt.lstrip("\ufeff \t\r\n")
    if not text:
        return "it is empty"
    if why := next((why for begins, why in _LEFT_ALONE.items() if text.startswith(begins)), None):
        return why
    if text[0] == "/":  # `/etc/hosts` and `/setup.py` are not commands: those are one plain word
        word = text.split(None, 1)[0]
        return None if "/" in word[1:] or "." in word else "a command of the client"
    return "it names a prompt of KDS" if _OWN_PROMPT.match(text.replace("\\", "/")) else None


def goes_on(message: str) -> bool:
    """Whether ``message`` says itself that it continues something.

    >>> goes_on("as discussed, use tabs"), goes_on("Add a resume upload")
    (True, False)
    """
    return GOES_ON.search(message) is not None


def as_output(text: str, client: str, *, event: str = "UserPromptSubmit") -> dict[str, object]:
    """Return the JSON with which a client takes ``text`` into the conversation.

    Copilot CLI reads the outer key, Claude Code the inner one; Codex refuses unknown keys.
    """
    if client == "cursor":
        return {"continue": True, "additional_context": text}
    outer = {} if client == "codex" else {"additionalContext": text}
    return {**outer, "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def says_enough(prompt: str) -> str | None:
    """Why nothing is said beside a prompt, whatever it refers to; None where there is room."""
    if len(prompt) > PROMPT_LIMIT:
        return f"it is longer than {PROMPT_LIMIT:,} characters"
    return "a trace is pasted into it" if TRACE.search(prompt) else None


def hook_hint(turn: Turn) -> str | None:
    """Return one line on what words of the prompt stand for; None where there is no such thing.

    What only the assistant's reply names is not said: the model has just said it.
    """
    if says_enough(turn.message):
        return None
    hints, nameless = [], {(ref.start, ref.end) for ref in turn.references if not ref.target}
    for edit in turn.edits:
        said, meant = one_line(turn.message[edit.start : edit.end]), one_line(edit.text)
        short = max(len(said), len(meant)) <= QUOTE_LIMIT
        if short and said and said != meant and (edit.start, edit.end) not in nameless:
            quoted = (text.replace('"', "'") for text in (said, meant))
            hints.append('" probably means "'.join(quoted) + '"')
    together = ', "'.join(hints[:MOST_HINTS])
    return f"{OWN_LINE}{together}." if hints else None


def why_no_hint(turn: Turn) -> str:
    """Say why there is no hint beside a prompt, without a word of it."""
    if why := says_enough(turn.message):
        return why
    if not turn.english:
        return "it is not in English"
    if not (turn.context or turn.history):
        return "nothing was said before it"
    if turn.references or turn.unresolved or turn.proposals:
        return "not sure enough what it refers to"
    return "nothing in it refers to what was said before"


def activation_line(entry: Entry, client: str) -> str:
    """Return the line that names the entry a prompt calls for, as ``client`` invokes it.

    >>> activation_line(Entry("release-notes"), "claude")
    'KDS: the skill "release-notes" fits this (use it with the Skill tool).'
    """
    how = f" (/prompts:{entry.name})" if client == "codex" else f" (/{entry.name})"
    if entry.kind == "skill":
        how = " (use it with the Skill tool)" if client == "claude" else ""
    elif entry.kind == "agent":
        how = " (hand the work to it)"
    return f'KDS: the {entry.kind} "{entry.name}" fits this{how}.'
