"""The step that decides: act, ask or abstain; which session, which agent, which prompt."""

from collections.abc import Callable
from dataclasses import replace

from kds.brain.context.names import NAMELESS, session_id
from kds.brain.errors import DispatchError
from kds.brain.secrets.redaction import reveals, withheld
from kds.brain.turn import UNKNOWN, Turn
from kds.router.intents.policy import Decision, decide
from kds.router.pipeline import Step
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.router.prompts.values import prompt_values

FeatureOf = Callable[[str], str | None]
"""The feature that a message is about ("FAB button"), or None. Supplied by the language side."""


def make_dispatch(library: PromptLibrary, *, feature_of: FeatureOf, workspace: str) -> Step:
    """The dispatch step over a library. ``workspace`` is the folder that prompts may name."""

    def dispatch(turn: Turn) -> Turn:
        if not turn.english:  # no agent is picked, and the message is its own prompt
            session, note = _inherited(turn, library, feature_of)
            notes = (*turn.notes, "abstain: not English; no agent", note)
            return replace(
                turn, action="abstain", session_id=session, prompt=turn.message, notes=notes
            )
        decision = decide(turn.intent, turn.confidence, turn.alternatives, in_scope=turn.in_scope)
        agent = _agent(library, turn.intent if decision.action == "route" else UNKNOWN)
        session, session_note = _session(turn, decision, library, feature_of)
        decided = replace(
            turn,
            action=decision.action,
            question=_question(library, decision.candidates) if decision.candidates else None,
            candidates=decision.candidates,
            session_id=session,
            agent=agent.name,
            prompt_file=agent.ref,
        )
        values = prompt_values(decided, agents=library.agents(), workspace=workspace)
        notes = (f"{decision.action}: {decision.reason}; agent {agent.name}", session_note)
        return replace(decided, prompt=library.render(agent, values), notes=turn.notes + notes)

    return Step("dispatch", dispatch)


def _agent(library: PromptLibrary, intent: str) -> PromptFile:
    agent = library.for_intent(intent)
    if agent is None:
        hint = f"add a prompt file with 'intent: {intent}' to prompts/internal/"
        raise DispatchError(f"no agent for intent {intent}", hint=hint)
    return agent


def _session(
    turn: Turn, decision: Decision, library: PromptLibrary, feature_of: FeatureOf
) -> tuple[str | None, str]:
    """The session of a turn, and a line that says where it comes from."""
    if turn.context_switch:
        return None, "topic switch: the new session begins with the next message"
    points_back = bool(turn.references) or turn.context_ref is not None
    starts = decision.action == "route" and _starts_session(library, turn.intent)
    if (
        starts
        and not points_back
        and (feature := _nameable(feature_of, turn.expanded or turn.message))
    ):
        started = session_id(feature, turn.at)
        return started, f"session {started}: a new plan for '{feature}'"
    return _inherited(turn, library, feature_of)


def _inherited(turn: Turn, library: PromptLibrary, feature_of: FeatureOf) -> tuple[str | None, str]:
    if not turn.context:
        return None, "no session: the context is empty"
    newest = turn.context[-1]
    if newest.session_id is not None:
        return newest.session_id, f"session {newest.session_id}: inherited"
    if _starts_session(library, newest.intent) and (
        feature := _nameable(feature_of, newest.user_message)
    ):
        started = session_id(feature, newest.timestamp)
        return started, f"session {started}: begun by the topic switch before"
    return None, "no session: the message before has none"


def _nameable(feature_of: FeatureOf, message: str) -> str | None:
    """What a message is about, as a session may be called: no secret gives it its name."""
    feature = feature_of(message)
    return NAMELESS if feature and reveals(feature, withheld(message)) else feature


def _starts_session(library: PromptLibrary, intent: str) -> bool:
    """Whether messages of ``intent`` start a session; its prompt file says so."""
    agent = library.for_intent(intent)
    return agent is not None and agent.starts_session


def _question(library: PromptLibrary, candidates: tuple[str, ...]) -> str:
    """A question over the candidates: "Did you mean to plan something new, or run the tests?"."""
    phrases = [_agent(library, intent).phrase for intent in candidates]
    if len(phrases) == 1:
        return f"Did you mean to {phrases[0]}, or something else?"
    return f"Did you mean to {', '.join(phrases[:-1])}, or {phrases[-1]}?"
