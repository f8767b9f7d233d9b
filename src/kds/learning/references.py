"""Teaching KDS what a description means in a workspace, and what was taught, for the router."""

from dataclasses import dataclass

from kds.brain.errors import StoreError, WorkspaceError
from kds.brain.learning.event import reference_id
from kds.brain.learning.learned_file import YOU, LearnedFileError
from kds.brain.learning.reference import LearnedReference, thing, unteachable, without_article
from kds.brain.visible import one_line
from kds.brain.workspace import Workspace
from kds.learning.learning import SWITCH_ON, Learning, LearningError
from kds.learning.learning_place import LearningPlace


@dataclass(frozen=True, slots=True)
class TaughtReference:
    """What a description means now; ``new`` unless it did before."""

    reference: LearnedReference
    new: bool


def teach_reference(workspace: Workspace, description: str, antecedent: str) -> TaughtReference:
    """Let ``description`` ("the button") mean ``antecedent`` ("FAB button") from now on.

    It counts wherever the conversation has mentioned that thing, until `Learning.undo` takes it
    back. Of several things that were taught for a description, the one taught last counts first.

    Raises LearningError when learning is off, or for what is no description or no thing;
    WorkspaceError and StoreError when nothing can be kept there.
    """
    if not workspace.root.is_dir():
        hint = "make it, or name another one"
        raise WorkspaceError("no such folder", where=str(workspace.root), hint=hint)
    said, meant = one_line(description), without_article(one_line(antecedent))
    if reason := unteachable(said, meant):
        hint = (
            "name a thing as it was mentioned: kds learn teach-reference 'the button' 'FAB button'"
        )
        raise LearningError(f"that cannot be learned: {reason}", hint=hint)
    learning = Learning(workspace)
    if not learning.enabled:
        raise LearningError("learning is off", hint=SWITCH_ON)
    one = LearnedReference(reference_id(said, meant), said, meant, YOU)
    known = [other for other in learning.references() if thing(other.text) == thing(said)]
    if known and known[-1].id == one.id:
        return TaughtReference(known[-1], new=False)
    if any(other.id == one.id for other in known):
        learning.undo(one.id)  # what was said last stands at the end
    workspace.ensure()
    learning.take_in([one], by=YOU)
    return TaughtReference(one, new=True)


def learned_references(workspace: Workspace) -> tuple[LearnedReference, ...]:
    """What was taught in a workspace; nothing while learning is off.

    A file that does not load teaches nothing: whoever loads the examples in it warns of that.
    """
    place = LearningPlace.of(workspace)
    if not place.file.text.exists or not place.enabled:
        return ()
    try:
        return place.file.references()
    except (LearnedFileError, StoreError):
        return ()
