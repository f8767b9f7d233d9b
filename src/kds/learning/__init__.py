"""Learning from corrections and clarifications: recorded, guarded, applied to the router."""

from kds.learning.example_teaching import Taught, teach
from kds.learning.learning import Learning, LearningError
from kds.learning.references import TaughtReference, teach_reference

__all__ = ["Learning", "LearningError", "Taught", "TaughtReference", "teach", "teach_reference"]
