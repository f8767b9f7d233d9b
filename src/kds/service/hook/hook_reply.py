"""What KDS answers to a hook: nothing as a rule, a hint when it is sure (DESIGN 7).

What a hook adds stays in the conversation for good, beside the client's own rules. So it is worth
a line only where the model lacks something, and never an order. Who wants the agents' prompts
asks for them: `hook: {mode: agent}`.
"""

import re
from collections.abc import Iterator
from typing import Final

from kds.brain.settings_schema import HookMode
from kds.brain.turn import Turn
from kds.brain.visible import one_line
from kds.hooks.prompt import OWN_LINE

TEXT_LIMIT: Final = 9_500
"""UTF-16 code units of what is added to a prompt. Claude Code puts a text of more than 10,000
characters (JavaScript's, which are code units) in a file and shows the model a preview of it."""

PROMPT_LIMIT: Final = 1_000
"""Characters of a prompt that is hinted about: a longer one says by itself what it is about."""

MOST_HINTS: Final = 2
QUOTE_LIMIT: Final = 48
"""Characters of a word and of what it stands for: two hints have at most 245, which is 60 tokens of
English prose at some four characters each."""

_TRACE: Final = re.compile(
    r"^Traceback \(most recent call last\)|^\s+at \S.*[:(]\d+|^\s*File \".*\", line \d+"
    r"|^(?:\w+\.)*\w*(?:Error|Exception|Panic)\b.*:",
    re.MULTILINE,
)
_TAGS: Final = {"<message>": "</message>", "<expanded>": "</expanded>"}
_LEFT_TO_THE_CLIENT: Final = ("## The message", "## What to hand back", "## Always")
"""Sections of a prompt that the client has already: the message above all, and its own rules."""


def hook_output(
    turn: Turn, *, mode: HookMode = "line", planning: bool = False
) -> dict[str, object] | None:
    """Return the JSON that the hook prints for ``turn``; None when there is nothing to say.

    Copilot CLI reads the outer key, Claude Code the inner one and ignores the other.
    """
    text = hook_text(turn, mode=mode, planning=planning)
    if text is None:
        return None
    return {
        "additionalContext": text,
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text},
    }


def hook_text(turn: Turn, *, mode: HookMode = "line", planning: bool = False) -> str | None:
    """Return what the assistant reads beside the prompt: the hint, and in mode ``agent`` the
    prompt of the agent, whole or not at all.

    A client that is planning has rules that an agent's prompt would contradict.
    """
    hint = hook_hint(turn)
    if mode == "line" or planning or turn.action != "route":
        return hint
    text = "\n\n".join(part for part in (hint, agent_prompt(turn.prompt)) if part)
    return text if _units(text) <= TEXT_LIMIT else hint


def hook_hint(turn: Turn) -> str | None:
    """Return one line on what words of the prompt stand for; None where there is no such thing.

    What only the assistant's reply names is not said: the model has just said it.

    >>> from datetime import datetime, UTC
    >>> from kds.brain.turn import Edit, Reference
    >>> it = Reference("it", 5, 7, "FAB button", "pron.it", 0.9)
    >>> hook_hint(Turn("Make it purple", datetime.now(UTC), references=(it,),
    ...                edits=(Edit(5, 7, "the FAB button"),)))
    'KDS: "it" probably means "the FAB button".'
    """
    if len(turn.message) > PROMPT_LIMIT or _TRACE.search(turn.message):
        return None
    hints = [f'{said}" probably means "{meant}"' for said, meant in _meanings(turn)]
    together = ', "'.join(hints[:MOST_HINTS])
    return f"{OWN_LINE}{together}." if hints else None


def agent_prompt(prompt: str) -> str:
    """``prompt`` without what the client has: the user's message, and rules of its own."""
    kept: list[str] = []
    left_out, closing = False, ""
    for line in prompt.splitlines():
        if closing:  # the user's words: a heading among them is none of ours
            closing = "" if line == closing else closing
        elif line in _TAGS:
            closing = _TAGS[line]
        elif line.startswith(("# ", "## ")):
            left_out = line in _LEFT_TO_THE_CLIENT
        if not left_out:
            kept.append(line)
    return "\n".join(kept).strip()


def _meanings(turn: Turn) -> Iterator[tuple[str, str]]:
    """Words of the message and what they stand for, both short and in one line."""
    nameless = {(ref.start, ref.end) for ref in turn.references if not ref.target}
    for edit in turn.edits:
        said, meant = one_line(turn.message[edit.start : edit.end]), one_line(edit.text)
        if (edit.start, edit.end) in nameless or not said or said == meant:
            continue
        if len(said) <= QUOTE_LIMIT and len(meant) <= QUOTE_LIMIT:
            yield said.replace('"', "'"), meant.replace('"', "'")


def _units(text: str) -> int:
    """The length of ``text`` as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
