"""Activation: which skill, agent, command or prompt file of a project fits a prompt, or none."""

from kds.activation.activator import Activator, Suggestion
from kds.activation.discovery import Entry, Kind

__all__ = ["Activator", "Entry", "Kind", "Suggestion"]
