"""What is loaded once for a workspace, and shared by every conversation in it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kds.brain.document_cache import DocumentCache
from kds.brain.errors import ConfigError, StoreError
from kds.brain.learning.reference import LearnedReference
from kds.brain.shared_database import shared_database
from kds.brain.workspace import Workspace
from kds.learning.library import with_learned
from kds.learning.references import learned_references
from kds.router.english import load_english
from kds.router.hanging import one_budget
from kds.router.intents.model import IntentModel
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import TurnModel, turn_model_for
from kds.router.language.analysis import open_language
from kds.router.prompts.library import PromptLibrary
from kds.router.references.decision import Decider, shipped_decider
from kds.router.references.resolver import Resolver
from kds.router.references.ruleset import load_rules

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

    @classmethod
    def load(cls, workspace: Workspace, *, may_write: bool) -> "Parts":
        """Read rules, prompts and what was learned, and open the model. Raises ConfigError.

        What was learned on a server is laid over them (`kds.api.learned_parts`): it changes.
        Unless it ``may_write``, a model that has to be fitted is not kept for the next time.
        """
        cache = DocumentCache.open(workspace.cache_dir)
        try:
            with one_budget():
                shipped = PromptLibrary.load(workspace.prompts_dir, cache=cache)
                library, warnings = shipped, tuple[str, ...]()
                taught: tuple[LearnedReference, ...] = ()
                if shared_database(workspace) is None:
                    library, warnings = with_learned(shipped, workspace, may_write=may_write)
                    taught = learned_references(workspace)
                resolver = load_resolver(workspace, cache=cache, taught=taught)
        except ConfigError:
            if may_write:
                with suppress(StoreError):  # the files that are right need not be checked again
                    cache.save(whole=False)
            raise
        opened = open_model(library.prompts(), workspace.cache_dir, may_write=may_write)
        warnings = (*warnings, *opened.warnings)
        if may_write:
            try:
                cache.save()
            except StoreError as error:
                warnings += (f"{error.where}: {error.message}; the next start is no faster",)
        turns = turn_model_for(opened.model.learned.labels)
        return cls(
            workspace, library, resolver, opened.model, turns,
            shipped_decider(), warnings,
        )  # fmt: skip


def load_resolver(
    workspace: Workspace,
    *,
    without: str | None = None,
    cache: DocumentCache | None = None,
    taught: Sequence[LearnedReference] = (),
) -> Resolver:
    """The resolver over the rules of a workspace, but for ``without``. Raises ConfigError."""
    found = load_rules(workspace.rules_dir, cache=cache)
    rules = [rule for rule in found.rules if rule.id != without]
    english = load_english(workspace.english_dir)
    language = open_language(found.entities, os.environ.get(SPACY_MODEL) or None, english)
    return Resolver(language, rules, found.knowledge, taught=taught)
