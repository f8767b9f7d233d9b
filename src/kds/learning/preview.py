"""How a message is routed now, and how it would be once proposals are accepted."""

from collections.abc import Sequence
from dataclasses import dataclass

from kds.brain.learning.candidate import Candidate
from kds.brain.workspace import Workspace
from kds.learning.library import with_learned
from kds.router.intents.model import IntentModel
from kds.router.intents.model_cache import open_model
from kds.router.intents.policy import decide
from kds.router.prompts.library import PromptLibrary


@dataclass(frozen=True, slots=True)
class Routing:
    """What becomes of a message that nothing was said before."""

    intent: str
    confidence: float
    action: str

    def __str__(self) -> str:
        done = {"route": "", "clarify": ", asked back", "abstain": ", not acted on"}[self.action]
        return f"{self.intent} ({self.confidence:.2f}{done})"

    def as_dict(self) -> dict[str, object]:
        """The routing as JSON has it."""
        return {
            "intent": self.intent,
            "confidence": round(self.confidence, 4),
            "action": self.action,
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """A message before and after."""

    now: Routing
    then: Routing


def preview(workspace: Workspace, candidates: Sequence[Candidate]) -> dict[str, Preview]:
    """What accepting all ``candidates`` would change for each of them, by id.

    Fits a model on the way: some seconds. Keeps the one in use where it may.
    """
    may_write = workspace.brain.is_dir()
    shipped = PromptLibrary.load(workspace.prompts_dir)
    library, _ = with_learned(shipped, workspace, may_write=False)
    now = open_model(library.prompts(), workspace.cache_dir, may_write=may_write).model
    more = library.with_examples((one.intent, one.text) for one in candidates)
    then = open_model(more.prompts()).model
    return {
        one.id: Preview(_routing(now, one.text), _routing(then, one.text)) for one in candidates
    }


def _routing(model: IntentModel, text: str) -> Routing:
    verdict = model.score(text)
    decision = decide(
        verdict.intent, verdict.confidence, verdict.alternatives, in_scope=verdict.in_scope
    )
    return Routing(verdict.intent, verdict.confidence, decision.action)
