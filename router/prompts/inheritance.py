"""What a prompt of the user's lacks that the packaged one it stands for has.

A file replaces the packaged one of its name as a whole (docs/prompt-files.md). The keys below are
easily left out of a copy: it loads and answers, and what follows from its intent is gone.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kds.brain.errors import Problem
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

BEHAVIOUR: Final[Mapping[str, str]] = {
    "needs": "it is chosen without the words it needs",
    "context": "where a message stands in the conversation no longer counts for it",
    "absorbs": "sentences that only spell it out count as requests of their own",
    "symptoms": "reports of symptoms go where their words point",
    "starts_session": "it starts no sessions",
    "corrects": "it stops no agents, and corrects nothing",
    "only_looks": "'go ahead' hands on what it has only looked at",
}
"""Keys that say what follows from an intent, and what happens without them."""


def lost_behaviour(library: PromptLibrary, packaged: Iterable[PromptFile]) -> tuple[Problem, ...]:
    """Every such key that a prompt of ``library`` leaves out; one that it denies is meant so."""
    shipped = {prompt.intent: prompt for prompt in packaged if prompt.intent}
    return tuple(
        problem
        for prompt in library.agents()
        if (first := shipped.get(prompt.intent or "")) is not None and first.path != prompt.path
        for problem in _losses(prompt, first)
    )


def _losses(prompt: PromptFile, packaged: PromptFile) -> Iterator[Problem]:
    said = prompt.front.data if isinstance(prompt.front.data, dict) else {}
    for key, loss in BEHAVIOUR.items():
        value = getattr(packaged, key)
        if not value or key in said:
            continue
        name = Path(packaged.ref).name
        message = f"has no '{key}', which the packaged {name} has: {loss}"
        none = "false" if value is True else "[]"
        hint = f"copy it from {packaged.front.where((key,))}; '{key}: {none}' if that is meant"
        yield Problem(prompt.front.where(("intent",)), message, hint)
