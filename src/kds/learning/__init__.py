"""What the user taught: kept where it is readable, laid over the router, taken back at will."""

from kds.learning.teaching import Learning, LearningError, Taught, teach

__all__ = ["Learning", "LearningError", "Taught", "teach"]
