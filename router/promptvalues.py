"""What a prompt may ask for: the template variables, made from a Turn."""

from collections.abc import Sequence
from datetime import UTC

from kds.brain.turn import ContextEntry, Turn
from kds.router.promptfile import PromptFile


def prompt_values(turn: Turn, *, agents: Sequence[PromptFile], workspace: str) -> dict[str, object]:
    """Every variable that prompts can declare as input, as plain data.

    Text of the user stays as written. Times are ISO 8601 in UTC, confidences have two digits.
    """
    return {
        "message": turn.message,
        "expanded": turn.expanded or turn.message,
        "intent": turn.intent,
        "confidence": round(turn.confidence, 2),
        "alternatives": [
            {"intent": score.intent, "confidence": round(score.confidence, 2)}
            for score in turn.alternatives
        ],
        "secondary_intents": list(turn.secondary_intents),
        "context": [_entry(entry) for entry in turn.context],
        "context_ref": turn.context_ref,
        "references": [
            {
                "text": reference.text,
                "target": reference.target,
                "rule": reference.rule,
                "score": round(reference.score, 2),
            }
            for reference in turn.references
        ],
        "context_switch": turn.context_switch,
        "session_id": turn.session_id,
        "question": turn.question,
        "candidates": list(turn.candidates),
        "workspace": workspace,
        "agents": [
            {"name": agent.name, "intent": agent.intent, "description": agent.description}
            for agent in agents
        ],
    }


def _entry(entry: ContextEntry) -> dict[str, str | None]:
    return {
        "timestamp": entry.timestamp.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "user_message": entry.user_message,
        "intent": entry.intent,
        "session_id": entry.session_id,
        "context_ref": entry.context_ref,
    }
