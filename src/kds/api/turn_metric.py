"""What is measured of a routed turn: the decision and its cost, never a word of the message."""

import hashlib
from collections.abc import Mapping
from typing import Final

from kds.brain.turn import Turn
from kds.brain.wire import rewriting_to_wire

TURN: Final = "turn"
"""Name of the measurement."""

_WORKSPACE: Final = ""
"""The conversation that all windows of a workspace share has no name."""


def turn_metric(turn: Turn, conversation: str | None = None) -> Mapping[str, object]:
    """Return the record of a turn for the memory's log of metrics.

    The name of the conversation is hashed: it only has to be the same for the next turn.
    """
    name = (conversation or _WORKSPACE).encode(errors="surrogatepass")
    return {
        "conversation": hashlib.sha256(name).hexdigest()[:12],
        "intent": turn.intent,
        "action": turn.action,
        "confidence": round(turn.confidence, 4),
        "references": len(turn.references),
        "unresolved": len(turn.unresolved),
        "switch": turn.context_switch,
        "cpu_ms": {record.step: round(record.cpu_ms, 3) for record in turn.records},
        **({} if turn.rewriting is None else {"rewriting": rewriting_to_wire(turn.rewriting)}),
    }
