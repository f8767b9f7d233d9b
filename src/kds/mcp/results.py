"""What the tools hand back: a text with its structure.

The text is for people, and for clients that show no structured content.
"""

from collections.abc import Iterator
from typing import Final

from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, BeforeValidator

from kds.brain.turn import Reference
from kds.mcp.tool_schemas import (
    ClearedContext,
    ContextView,
    Explanation,
    Resolution,
    RoutedMessage,
)

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

ABSENT: Final = BeforeValidator(lambda given: "" if given is None else given)
"""For a plain `str` with "" for nothing: the SDK would read a text such as "null" as JSON
otherwise."""


def result(text: str, structured: BaseModel) -> CallToolResult:
    """Put the text and the structure of a result together."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=structured.model_dump(mode="json"),
    )


def routed_text(routed: RoutedMessage) -> str:
    """The decision in a few lines, the question if there is one, then the agent's prompt."""
    return "\n".join(_routed_lines(routed))


def resolved_text(found: Resolution) -> str:
    """The expanded message, and what points to what."""
    lines = [found.expanded, *(_reference(reference) for reference in found.references)]
    if found.context_ref:
        lines.append(f"about: {found.context_ref}")
    if found.context_switch:
        lines.append("the topic changes here")
    if found.expanded == found.message and not found.references:
        lines.append("nothing in it points back")
    return "\n".join(lines)


def context_text(view: ContextView) -> str:
    """One line a message, oldest first."""
    lines = [
        f"{entry.timestamp} {entry.intent}: {entry.user_message}"
        + (f" (about: {entry.context_ref})" if entry.context_ref else "")
        for entry in view.entries
    ]
    warnings = [f"warning: {warning}" for warning in view.warnings]
    return "\n".join([*(lines or ["nothing is remembered"]), *warnings])


def cleared_text(cleared: ClearedContext) -> str:
    """How many messages are gone."""
    return f"forgot {cleared.cleared} {'message' if cleared.cleared == 1 else 'messages'}"


def explained_text(explanation: Explanation) -> str:
    """Every step with its notes."""
    lines = [
        f"{explanation.expanded}",
        f"{explanation.action}: {explanation.intent} ({explanation.confidence:.2f})",
    ]
    for step in explanation.steps:
        lines += [f"{step.step}:", *(f"  {note}" for note in step.notes)]
    return "\n".join(lines)


def _routed_lines(routed: RoutedMessage) -> Iterator[str]:
    yield routed.expanded
    yield f"{routed.action}: {routed.intent} ({routed.confidence:.2f}), agent {routed.agent}"
    if routed.secondary_intents:
        yield f"then: {', '.join(routed.secondary_intents)}"
    if routed.session_id:
        yield f"session: {routed.session_id}"
    yield from (_reference(reference) for reference in routed.references)
    yield from (f"warning: {warning}" for warning in routed.warnings)
    if routed.question:
        yield f"question: {routed.question}"
        yield f"candidates: {', '.join(routed.candidates)}"
    yield routed.next_step
    if routed.prompt:
        yield ""
        yield routed.prompt


def _reference(reference: Reference) -> str:
    return f"'{reference.text or '(implied)'}' -> {reference.target}"
