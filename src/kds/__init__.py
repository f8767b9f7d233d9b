"""KDS: a local-first intent router for developer chat, driven by prompt files.

>>> import kds
>>> kds.KdsError.__name__, kds.UNKNOWN
('KdsError', 'UNKNOWN')

Every public name is loaded when it is first used (PEP 562), so `import kds` alone is cheap.
"""

import os.path

if os.path.isfile(os.path.join(os.path.dirname(__file__), "brain")):
    raise ImportError(
        "kds was checked out or unpacked without symbolic links, so kds.brain is missing."
        " Run `git config core.symlinks true` and `git checkout -- src/kds`, then install again"
        " (on Windows this needs developer mode)."
    )

TYPE_CHECKING = False  # type checkers take it for true; `typing` would cost the hook 8 ms

if TYPE_CHECKING:
    from kds.api.conversations import Conversations as Conversations
    from kds.api.routing import Router as Router
    from kds.api.turn_log import TurnLog as TurnLog
    from kds.brain.context.journal import ContextJournal as ContextJournal
    from kds.brain.errors import ConfigError as ConfigError
    from kds.brain.errors import DispatchError as DispatchError
    from kds.brain.errors import ExampleFileError as ExampleFileError
    from kds.brain.errors import KdsError as KdsError
    from kds.brain.errors import MessageError as MessageError
    from kds.brain.errors import Problem as Problem
    from kds.brain.errors import PromptFileError as PromptFileError
    from kds.brain.errors import RuleFileError as RuleFileError
    from kds.brain.errors import StoreError as StoreError
    from kds.brain.errors import WorkspaceError as WorkspaceError
    from kds.brain.settings import Settings as Settings
    from kds.brain.settings import SettingsError as SettingsError
    from kds.brain.settings import load_settings as load_settings
    from kds.brain.turn import UNKNOWN as UNKNOWN
    from kds.brain.turn import ContextEntry as ContextEntry
    from kds.brain.turn import IntentScore as IntentScore
    from kds.brain.turn import Reference as Reference
    from kds.brain.turn import StepRecord as StepRecord
    from kds.brain.turn import Turn as Turn
    from kds.brain.workspace import Workspace as Workspace
    from kds.learning.corrections import LearningLog as LearningLog
    from kds.router.prompts.library import PromptLibrary as PromptLibrary
    from kds.service.lifecycle import spawn_service as spawn_service
    from kds.service.service_client import RouterClient as RouterClient
    from kds.session.exchange import Answer as Answer
    from kds.session.session import Session as Session
    from kds.testing.dialogues import Dialogue as Dialogue
    from kds.testing.dialogues import ExpectedTurn as ExpectedTurn
    from kds.testing.dialogues import describe as describe
    from kds.testing.dialogues import find_dialogue_files as find_dialogue_files
    from kds.testing.dialogues import is_dialogue_file as is_dialogue_file
    from kds.testing.dialogues import play as play
    from kds.testing.dialogues import read_dialogues as read_dialogues

_HOMES = {
    "kds.session.exchange": "Answer",
    "kds.brain.errors": (
        "ConfigError DispatchError ExampleFileError KdsError MessageError "
        "Problem PromptFileError RuleFileError StoreError WorkspaceError"
    ),
    "kds.brain.context.journal": "ContextJournal",
    "kds.brain.settings": "Settings SettingsError load_settings",
    "kds.brain.turn": "UNKNOWN ContextEntry IntentScore Reference StepRecord Turn",
    "kds.brain.workspace": "Workspace",
    "kds.api.conversations": "Conversations",
    "kds.service.service_client": "RouterClient",
    "kds.testing.dialogues": (
        "Dialogue ExpectedTurn describe find_dialogue_files is_dialogue_file play read_dialogues"
    ),
    "kds.learning.corrections": "LearningLog",
    "kds.router.prompts.library": "PromptLibrary",
    "kds.api.routing": "Router",
    "kds.service.lifecycle": "spawn_service",
    "kds.session.session": "Session",
    "kds.api.turn_log": "TurnLog",
}
"""Module -> the public names that live there. A test holds it equal to the imports above."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a public name from its module at its first use."""
    import importlib  # late: the hook imports this package and must stay quick

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("kds-router")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kds' has no attribute '{name}'")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_HOME_OF, "__version__"})
