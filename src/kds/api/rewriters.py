"""Which rewriter is set up, as the settings are now."""

from threading import Lock

from kds.brain.config import LiveConfig
from kds.brain.settings import Settings
from kds.router.prompts.library import PromptLibrary
from kds.router.references.resolver import Resolver
from kds.router.rewriting.writer import REST_S, CheckedRewriter, Mode


class RewriterSource:
    """Finds the rewriter of a workspace, and keeps it while its settings stay. For any threads.

    What the model answered is kept with it. ``mode`` and ``rest_s`` (see `CheckedRewriter`)
    override the settings.
    """

    def __init__(
        self,
        config: LiveConfig,
        library: PromptLibrary,
        resolver: Resolver,
        *,
        mode: Mode | None = None,
        rest_s: float = REST_S,
    ) -> None:
        self._config = config
        self._library = library
        self._resolver = resolver
        self._mode = mode
        self._rest_s = rest_s
        self._lock = Lock()
        self._found: tuple[tuple[object, ...], CheckedRewriter | None] | None = None

    def __call__(self) -> CheckedRewriter | None:
        """Return the rewriter; None when no model is set up. Raises SettingsError."""
        settings = self._config.settings
        mode = self._mode_of(settings)
        key = (settings.model, settings.rewriting.timeout_s, mode)
        with self._lock:
            if self._found is None or self._found[0] != key:
                self._found = key, self._made(settings, mode)
            return self._found[1]

    def _made(self, settings: Settings, mode: Mode) -> CheckedRewriter | None:
        from kds.agents.rewriter import configured_rewriter  # imported only with a model

        rewriter = configured_rewriter(settings.model, self._library)
        if rewriter is None:
            return None
        timeout_s = settings.rewriting.timeout_s
        return CheckedRewriter(
            rewriter,
            self._resolver.analyse,
            mode=mode,
            timeout_s=timeout_s,
            rest_s=self._rest_s,
        )

    def _mode_of(self, settings: Settings) -> Mode:
        """A memory that is not to rewrite queries does not have them rewritten by a model."""
        if not settings.memory.enable_query_rewriting:
            return "rules-only"
        return self._mode or settings.rewriting.mode
