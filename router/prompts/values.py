"""What a prompt may ask for: the template variables, made from a Turn."""

import re
from collections.abc import Sequence
from datetime import UTC
from typing import Final

from kds.brain.clock import moment
from kds.brain.message import one_line
from kds.brain.turn import ContextEntry, Turn, plain
from kds.router.prompts.promptfile import PromptFile

LINE_LIMIT: Final = 300
"""Characters of an earlier message in a prompt: enough to know it again, and one line."""

READ_LIMIT: Final = 4 * LINE_LIMIT
"""Characters that are looked at for it: pasted logs of 200 kB are not cleaned to be cut."""

REFERS_BACK: Final = 0.5
"""Probability of needing earlier messages from which on a prompt says so: the likelier way."""

_FRAME: Final = re.compile(
    r"(?<!\W)\W++(?=(?:message|expanded|previous|messages)\b)", re.IGNORECASE
)
"""The signs before the names of the tags that prompts put around what the user wrote
(prompts/shared/_message.md). Possessive: 100,000 signs in a run would take minutes otherwise."""


def prompt_values(turn: Turn, *, agents: Sequence[PromptFile], workspace: str) -> dict[str, object]:
    """Every variable that prompts can declare as input, as plain data.

    The message stays as written, but for the tags that frame it in prompts, which it could
    close; every other text of the user is one line, cut at LINE_LIMIT. Times are ISO 8601 in
    UTC, confidences have two digits.
    """
    return {
        "message": _framed(turn.message),
        "expanded": _framed(turn.expanded or turn.message),
        "intent": turn.intent,
        "confidence": round(turn.confidence, 2),
        "alternatives": plain(turn.alternatives, digits=2),
        "secondary_intents": list(turn.secondary_intents),
        "context": [_entry(entry) for entry in turn.context],
        "context_ref": _line(turn.context_ref),
        "references": [
            {
                "text": _line(reference.text),
                "target": _line(reference.target),
                "rule": reference.rule,
                "score": round(reference.score, 2),
            }
            for reference in turn.references
        ],
        "refers_back": turn.needs_context >= REFERS_BACK and turn.expanded in ("", turn.message),
        "context_switch": turn.context_switch,
        "session_id": _line(turn.session_id),
        "question": _line(turn.question),
        "candidates": list(turn.candidates),
        "workspace": workspace,
        "agents": [
            {"name": agent.name, "intent": agent.intent, "description": agent.description}
            for agent in agents
        ],
    }


def _entry(entry: ContextEntry) -> dict[str, str | None]:
    return {
        "timestamp": moment(entry.timestamp.astimezone(UTC), "auto"),
        "user_message": _line(entry.user_message),
        "intent": entry.intent,
        "session_id": _line(entry.session_id),
        "context_ref": _line(entry.context_ref),
    }


def _framed(text: str) -> str:
    """``text`` for between tags: it can neither close them nor open others of their names."""
    return _FRAME.sub(lambda found: found[0].replace("<", "&lt;"), text)


def _line(text: str | None) -> str | None:
    """``text`` for a line of its own, in which it cannot begin another one."""
    if text is None:
        return None
    flat = _framed(one_line(text[:READ_LIMIT]))
    whole = len(flat) <= LINE_LIMIT and len(text) <= READ_LIMIT
    return flat if whole else flat[: LINE_LIMIT - 1].rstrip() + "…"
