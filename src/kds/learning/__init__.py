"""What the user taught: kept where it is readable, laid over the router, taken back at will."""

from kds.learning.teaching import (
    Learning,
    LearningError,
    Taught,
    TaughtReference,
    teach,
    teach_reference,
)

__all__ = ["Learning", "LearningError", "Taught", "TaughtReference", "teach", "teach_reference"]
