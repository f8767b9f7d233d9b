"""What keeps a document from being read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kds.brain.errors import KdsError


class DocumentError(KdsError):
    """A file cannot be read as a document: one message, and the fix."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        super().__init__(message, where=str(path), hint=hint)
        self.path = path


@contextmanager
def foreign(path: Path, message: str, hint: str = "save it anew") -> Iterator[None]:
    """Tell whatever a library raises over a file of anybody's as a DocumentError."""
    try:
        yield
    except KdsError:
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        if isinstance(error, RecursionError):
            told = "its parts contain each other"
        said = " ".join(told.split())[:200]
        raise DocumentError(path, f"{message} ({said})", hint) from error
