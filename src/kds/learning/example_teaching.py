"""Teaching KDS which intent a message has: at once, and with everything that belongs to it."""

from dataclasses import dataclass

from kds.brain.errors import WorkspaceError
from kds.brain.learning.candidate import Candidate
from kds.brain.learning.phrase import without_marks
from kds.brain.workspace import Workspace
from kds.learning.learning import Learning
from kds.learning.learning_place import LearningPlace
from kds.learning.library import with_learned
from kds.router.intents.model_cache import open_model
from kds.router.prompts.library import PromptLibrary


@dataclass(frozen=True, slots=True)
class Taught:
    """A message as it is learned now; ``redacted`` when a secret in it was marked.

    ``new`` unless it was learned before. ``warnings`` are about other examples, and the cache.
    """

    example: Candidate
    new: bool
    redacted: bool
    warnings: tuple[str, ...] = ()


def teach(workspace: Workspace, message: str, intent: str) -> Taught:
    """Let ``message`` be an example of ``intent`` from now on, and fit the model with it.

    It counts at once, for messages like it too, until `Learning.undo` takes it back. A running
    service reads it by itself.

    Raises LearningError when the message can be no example or would turn what ships, DispatchError
    for an unknown intent, MessageError for an empty message, WorkspaceError and StoreError when
    nothing can be kept there, ConfigError when a prompt file does not load.
    """
    if not workspace.root.is_dir():
        hint = "make it, or name another one"
        raise WorkspaceError("no such folder", where=str(workspace.root), hint=hint)
    shipped = PromptLibrary.load(workspace.prompts_dir)
    learning = Learning(workspace)
    before = {one.id for one in learning.examples()}
    example = learning.teach(message, intent, shipped)
    warnings = fitted(shipped, learning.place)
    return Taught(
        example,
        new=example.id not in before,
        redacted=without_marks(example.text) != example.text,
        warnings=warnings,
    )


def fitted(shipped: PromptLibrary, place: LearningPlace) -> tuple[str, ...]:
    """Fit the model with what was learned, so that no message has to wait; returns warnings.

    On a server it is laid over the model that ships (`kds.router.intents.own_examples`).
    """
    library, warnings = with_learned(shipped, place.workspace, may_write=True)
    if not place.in_files:
        return warnings
    return (*warnings, *open_model(library.prompts(), place.workspace.cache_dir).warnings)
