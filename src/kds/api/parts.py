"""What is loaded once for a workspace, and shared by every conversation in it."""

import logging
import os
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from kds.brain.errors import ConfigError, KdsError, OutageError, Problem
from kds.brain.settings import LiveConfig
from kds.brain.workspace import LEARNED, Texts, Workspace
from kds.brain.yaml_files import loading
from kds.learning.teaching import Known, known_in
from kds.router.english import English, load_english
from kds.router.intents.fitted import open_model
from kds.router.intents.model import IntentModel
from kds.router.intents.turn_model import TurnModel, turn_model_for
from kds.router.language.analysis import open_language
from kds.router.prompts.library import PromptLibrary
from kds.router.references.decision import PRECISION, Decider, shipped_decider
from kds.router.references.resolver import Resolver
from kds.router.references.ruleset import RuleSet, load_rules
from kds.router.rewriting.writer import REST_S, CheckedRewriter, Mode
from kds.router.understanding import Precision


class RewriterSource:
    """Finds the rewriter of a workspace, and keeps it while its settings stay. For any threads.

    What the model answered is kept with it. ``rest_s``: see `CheckedRewriter`.
    """

    def __init__(
        self, config: LiveConfig, library: PromptLibrary, *, rest_s: float = REST_S
    ) -> None:
        self._config, self._library = config, library
        self._rest_s = rest_s
        self._lock = Lock()
        self._found: tuple[object, CheckedRewriter | None] = object(), None

    def __call__(self) -> CheckedRewriter | None:
        """Return the rewriter; None when no model is set up. Raises SettingsError."""
        settings = self._config.settings
        # A memory that is not to rewrite queries does not have them rewritten by a model.
        wanted = settings.memory.enable_query_rewriting
        mode: Mode = settings.rewriting.mode if wanted else "rules-only"
        key = (settings.model, settings.rewriting.timeout_s, mode)
        with self._lock:
            if self._found[0] != key:
                from kds.agents.models import LazyModel  # imported only with a model
                from kds.agents.prompting import rewriter_of

                model = LazyModel(settings.model)
                checked = None if not model else CheckedRewriter(
                    rewriter_of(model, self._library),
                    name=model.name,
                    mode=mode,
                    timeout_s=settings.rewriting.timeout_s,
                    rest_s=self._rest_s,
                )  # fmt: skip
                self._found = key, checked
            return self._found[1]


def precision_of(config: LiveConfig) -> Precision:
    """Find the precision that the settings promise now; the default while they are wrong."""

    def precision() -> float:
        try:
            return config.settings.references.precision
        except ConfigError:  # told where all settings are read
            return PRECISION

    return precision


logger = logging.getLogger(__name__)

SPACY_MODEL: Final = "KDS_SPACY_MODEL"
"""Environment variable that names an installed spaCy pipeline, such as en_core_web_sm."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Rules, prompts and models of a workspace, as its files are now."""

    workspace: Workspace
    library: PromptLibrary
    resolver: Resolver
    model: IntentModel
    turns: TurnModel | None = None
    """What real turns say; None where the agents are not the packaged ones."""
    decider: Decider | None = None
    """Which proposed edits are written; None: all of them."""
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong with the files that were left out."""

    @classmethod
    def load(cls, workspace: Workspace) -> "Parts":
        """Read rules and prompts, and open the model. Raises ConfigError.

        Without what was taught: `LearnedParts` lays that over them, since it changes meanwhile.
        """
        library = PromptLibrary.load(workspace.prompts_dir)
        return cls._of(workspace, library, load_resolver(workspace))

    @classmethod
    def sound(cls, workspace: Workspace) -> "Parts":
        """The same without the files of the workspace that do not load; ``problems`` says why."""
        folder = workspace.prompts_dir, workspace.rules_dir, workspace.english_dir
        library, wrong = PromptLibrary.sound(folder[0])
        rules, also = loading(lambda without: load_rules(folder[1], without=without), folder[1])
        english, more = loading(lambda without: load_english(folder[2], without=without), folder[2])
        found = cls._of(workspace, library, _resolver(rules, english))
        return replace(found, problems=(*wrong, *also, *more))

    @classmethod
    def _of(cls, workspace: Workspace, library: PromptLibrary, resolver: Resolver) -> "Parts":
        model = open_model(library.prompts())
        turns = turn_model_for(model.learned.labels)
        return cls(workspace, library, resolver, model, turns, shipped_decider())


def load_resolver(workspace: Workspace) -> Resolver:
    """The resolver over the rules of a workspace. Raises ConfigError."""
    rules, english = load_rules(workspace.rules_dir), load_english(workspace.english_dir)
    return _resolver(rules, english)


def _resolver(found: RuleSet, english: English) -> Resolver:
    language = open_language(found.entities, os.environ.get(SPACY_MODEL) or None, english)
    return Resolver(language, found.rules, found.knowledge)


class LearnedParts:
    """The parts of a workspace with what was taught there, as of the last message.

    Whether anybody has taught something since is looked up before each message. Nothing is fitted.
    For any threads.
    """

    def __init__(self, base: Parts, config: LiveConfig, texts: Texts | None = None) -> None:
        """``base`` is without anything that was taught; a server (``texts``) is asked later.

        Raises SettingsError.
        """
        self.now = base
        """What was known when it was last looked."""
        self._base = base
        self._live = config
        self._texts = texts or Texts(base.workspace)
        self._state: tuple[object, object] = None, None
        self._lock = Lock()
        if config.current().database is None:
            self.refreshed()

    def refreshed(self) -> Parts:
        """Return the parts as they are now; while a server is away, as they were."""
        with self._lock:
            config = self._live.current()
            try:
                state = config, self._texts.mark(LEARNED)
                if state[0] is not self._state[0] or state[1] != self._state[1]:
                    self.now = self._with(known_in(config, self._base.library))
                    self._state = state
            except OutageError:
                pass  # told where the context is read
            except KdsError as error:  # what was taught so far still counts
                logger.warning("what was learned is not read again: %s", error)
            return self.now

    def _with(self, known: Known) -> Parts:
        """The parts with what was taught in the place of anything that was taught before."""
        base = self._base
        if known == Known():
            return base
        return replace(
            base,
            model=base.model.with_own(known.pairs),
            resolver=base.resolver.with_taught(known.references),
            warnings=(*base.warnings, *known.warnings),
        )
