"""What was taught in a workspace, as the router uses it: in its files, or the texts of a tenant."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from kds.brain.config import Config
from kds.brain.files import LockedText
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import (
    FILE_NAME,
    LearnedExample,
    LearnedFile,
)
from kds.brain.learning.reference import LearnedReference
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace, locked_text
from kds.router.prompts.library import PromptLibrary


@dataclass(frozen=True, slots=True)
class LearningPlace:
    """The events and the learned file of one workspace."""

    workspace: Workspace
    environ: Mapping[str, str]
    file: LearnedFile
    events: EventLog

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Find it. Raises SettingsError when a server may be set wrong."""

        def text(name: str) -> LockedText:
            return locked_text(workspace, name, environ=environ)

        return cls(workspace, environ, LearnedFile(text(FILE_NAME)), EventLog(text(EVENTS)))

    @property
    def enabled(self) -> bool:
        """Whether the user leaves learning on. Raises SettingsError."""
        return load_settings(self.workspace, environ=self.environ).learning.enabled


@dataclass(frozen=True, slots=True)
class Known:
    """What was taught and counts; ``warnings`` name what does not, and why."""

    examples: tuple[LearnedExample, ...] = ()
    references: tuple[LearnedReference, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Message and intent of each example, as a model takes them."""
        return [(one.text, one.intent) for one in self.examples]


def known_in(config: Config, library: PromptLibrary) -> Known:
    """What was taught in a workspace; nothing while learning is off.

    A file that does not load is a warning: routing goes on as shipped. So is an example of an
    intent that no prompt of the ``library`` has. Raises OutageError where a server does not answer.
    """
    if problem := config.learned_problem:
        return Known(warnings=(problem,))
    intents = {agent.intent for agent in library.agents()}
    examples = [one for one in config.learned if isinstance(one, LearnedExample)]
    return Known(
        tuple(one for one in examples if one.intent in intents),
        tuple(one for one in config.learned if isinstance(one, LearnedReference)),
        tuple(
            f"{FILE_NAME}:{one.line}: '{one.text}' is not used: no prompt file has the "
            f"intent {one.intent}"
            for one in examples
            if one.intent not in intents
        ),
    )
