"""Amnesia: forgetting what was learned about an application, with a way back."""

from kds.amnesia.backup import list_backups
from kds.amnesia.forgetting import (
    AmnesiaError,
    Report,
    Restored,
    forget,
    remove_backup,
    restore,
)
from kds.amnesia.inventory import Survey, survey

__all__ = [
    "AmnesiaError",
    "Report",
    "Restored",
    "Survey",
    "forget",
    "list_backups",
    "remove_backup",
    "restore",
    "survey",
]
