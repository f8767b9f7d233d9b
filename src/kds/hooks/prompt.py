"""Which events and prompts the hook answers. Part of `kds.hooks.client`: imports nothing."""

EVENTS = {
    "userpromptsubmit": "prompt",
    "userpromptsubmitted": "prompt",
    "beforeagent": "prompt",
    "beforesubmitprompt": "prompt",
    "sessionstart": "start",
}
"""The clients' names for the events that KDS knows, in lower case."""

OWN_LINE = 'KDS: "'
OWN_LINES = (OWN_LINE, "KDS: the ")
"""How every line begins that KDS adds to a conversation (`kds.hooks.reply`)."""

MEMORY_NOTE = "#memory"
"""How a note to the client's own memory begins; other words behind a `#` are headings, files and
issues."""

NOT_TYPED = (
    "<task-notification",
    "<agent-message",
    "<cross-session-message",
    "<teammate-message",
    "Another Claude session sent a message:",
)
"""How prompts begin that Claude Code hands to the hook although nobody has typed them. Its input
has no field that says so (anthropics/claude-code issue 94675)."""

_ENTRANCES = (
    "kds.md",
    "intent-router.md",
    "conversation-context-manager.md",
    "clear-conversation.md",
)
"""Prompts of KDS that an IDE may name without their folder."""


def is_for_routing(prompt: str) -> bool:
    """Tell whether a person wrote ``prompt`` to the assistant, in words of their own.

    Not so: slash commands, shell escapes and notes to a memory; prompts of
    KDS named by `#file:` or `@`, which make the assistant call `kds route` itself; lines KDS put
    out; what other agents sent.

    >>> [is_for_routing(text) for text in ("/kds plan it", "/etc/hosts is wrong", "!ls", "Go on")]
    [False, True, False, True]
    >>> [is_for_routing(text) for text in ("#memory use pnpm", "#42 fails again")]
    [False, True]
    """
    text = prompt.lstrip("\ufeff \t\r\n")
    if not text or text.startswith(("!", MEMORY_NOTE, *OWN_LINES, *NOT_TYPED)):
        return False
    if text[0] == "/":
        return _is_path(text.split(None, 1)[0])
    return not (text[0] == "@" or text[:6].lower() == "#file:") or not _names_own_prompt(text)


def _is_path(word: str) -> bool:
    """`/etc/hosts` and `/setup.py` are not commands: these consist of one plain word."""
    return "/" in word[1:] or "." in word


def _names_own_prompt(text: str) -> bool:
    line = text.split("\n", 1)[0].lower().replace("\\", "/")
    path, suffix, _ = line.removeprefix("#file:").lstrip("@ \"'").partition(".md")
    folder, _, name = path.rpartition("/")
    in_prompts = f"/{folder}".endswith(("/prompts/user", "/prompts/internal"))
    return bool(suffix) and (in_prompts or name + suffix in _ENTRANCES)
