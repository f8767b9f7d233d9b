"""Stores and files for the readers."""

from ..documents.conftest import shelf, store

__all__ = ["shelf", "store"]
