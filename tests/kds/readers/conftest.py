"""Stores and files for the readers. `document_files` can be imported."""

import sys
from pathlib import Path

from ..documents.conftest import shelf, store

__all__ = ["shelf", "store"]

sys.path.insert(0, str(Path(__file__).parent))
