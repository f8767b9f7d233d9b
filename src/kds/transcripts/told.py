"""What the hook told the model: its own log, with the words that the clients kept.

The log has no word of a prompt, and what is told may quote one. But the clients write down what
their hooks said, so the words are read from the session's own file, where it is JSON lines (Claude
Code, Codex, Copilot CLI, Gemini CLI).
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from kds.brain.workspace import Workspace
from kds.hooks.log import answer_in, read_hook_log
from kds.hooks.reply import OWN_LINES
from kds.transcripts.formats import moment
from kds.transcripts.importing import readers
from kds.transcripts.json_lines import JsonLines

NEAR: Final = timedelta(seconds=10)
"""Between the answer and the client's line on it: a client waits 5 s for a hook."""

_SPOKE: Final = r"^(?:said|warned)\b|; said\b"
_OWN: Final = OWN_LINES[0][:5].encode()


@dataclass(frozen=True, slots=True)
class HookCalled:
    """A call of the hook: when, by which client in which session, and what became of it."""

    at: str | None
    client: str | None
    session: str | None
    event: str | None
    """``prompt``, ``start`` or ``tool``; None, as the other two, where nothing answered."""
    what: str
    told: list[str] = field(default_factory=list)
    """The words, where the client kept them."""

    @property
    def spoke(self) -> bool:
        """Whether the model or the user was told something."""
        return self.session is not None and re.search(_SPOKE, self.what) is not None

    def away(self, at: datetime) -> timedelta:
        """How far from the call a moment is."""
        return abs(at - datetime.fromisoformat(self.at)) if self.at else timedelta.max


def hook_calls(workspace: Workspace, *, session: str = "") -> list[HookCalled]:
    """Return the calls that the hook's log has, oldest first; ``session`` is the beginning of one.

    Raises StoreError when the log cannot be read.
    """
    found = [_read(at, text) for at, text in read_hook_log(workspace.brain)]
    return [one for one in found if (one.session or "").startswith(session)]


def with_words(
    calls: Iterable[HookCalled], *, environ: Mapping[str, str] = os.environ
) -> list[HookCalled]:
    """Add what was told, from the files of the clients: each line to the call nearest in time."""
    calls = list(calls)
    spoken = [one for one in calls if one.spoke]
    sessions = {one.session for one in spoken}
    for reader in readers(Path.home(), environ).values() if spoken else ():
        for source in reader.sources() if isinstance(reader, JsonLines) else ():
            if source.session not in sessions:
                continue
            for at, line in _own_lines(source.path):
                own = [one for one in spoken if one.session == source.session]
                nearest = min(own, key=lambda one: one.away(at))
                if nearest.away(at) <= NEAR and line not in nearest.told:
                    nearest.told.append(line)
    return calls


def _read(at: str | None, text: str) -> HookCalled:
    answer = answer_in(text)
    if answer is None:
        return HookCalled(at, None, None, None, f"failed: {text}")
    client, session, event, what = answer
    return HookCalled(at, client, None if session == "-" else session, event, what)


def _own_lines(path: Path) -> Iterator[tuple[datetime, str]]:
    """The lines of KDS in a session, each with its time."""
    with path.open("rb") as file:
        for line in file:
            if _OWN not in line:
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):  # cut, or still being written
                continue
            at = moment(entry.get("timestamp")) if isinstance(entry, dict) else None
            for text in _texts(entry) if at else ():
                said = text.removeprefix("<hook_context>").removesuffix("</hook_context>")
                for part in said.splitlines():
                    if part.startswith(OWN_LINES) and at:
                        yield at, part


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
