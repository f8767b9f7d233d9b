"""Follows the session that a hook names: which skill, agent or command ran after which prompt."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Final

from kds.activation.uses import Uses, runs_in
from kds.transcripts.formats import About, Event, file_source
from kds.transcripts.json_lines import Claude, Codex, Copilot, Gemini

READERS: Final = {one.client: one for one in (Claude, Codex, Copilot, Gemini)}

READ_BYTES: Final = 4 * 2**20
"""How far back a session is read that is met in its middle."""


class Followed:
    """A session, as far as it was read."""

    def __init__(self) -> None:
        self._end = 0
        self._prompt = ""
        self._named: tuple[str, str] | None = None
        self._ever_named: set[str] = set()

    def name(self, prompt: str, entry: str) -> bool:
        """Note that ``entry`` is named beside ``prompt``; False: it was before, which is enough."""
        if entry in self._ever_named:
            return False
        self._ever_named.add(entry)
        self._named = prompt, entry
        return True

    def last_named(self) -> tuple[str, str] | None:
        """Return the prompt and the entry that was last named beside it: once."""
        named, self._named = self._named, None
        return named

    def learn(
        self,
        client: str,
        path: Path,
        knows: Callable[[str], bool],
        uses: Uses,
        named: tuple[str, str] | None,
    ) -> None:
        """Keep what ran since it was last read; ``named`` was said in vain where it did not run.

        Entries that ``knows`` denies are not of the library. Raises OSError and StoreError.
        """
        reader, source = READERS.get(client), file_source(client, path, path.stem)
        if reader is None or source is None:
            return
        start = self._end if self._end <= source.size else 0  # it was written anew
        start = max(start, source.size - READ_BYTES)
        events = list(reader(path.parent).read(source, start, About(client, path.stem)))
        before = [Event("user", self._prompt, start)] if self._prompt else []
        runs = [(said, name) for said, name in runs_in(chain(before, events)) if knows(name)]
        for prompt, entry in runs:
            uses.add(prompt, entry, "used")
        if named is not None and named[1] not in {entry for _, entry in runs}:
            uses.add(*named, "ignored")
        said = [event.text for event in events if event.kind == "user"]
        self._end, self._prompt = source.size, said[-1] if said else self._prompt
