"""What keeps a document from being read."""

from pathlib import Path

from kds.brain.errors import KdsError


class DocumentError(KdsError):
    """A file cannot be read as a document: one message, and the fix."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        super().__init__(message, where=str(path), hint=hint)
        self.path = path
