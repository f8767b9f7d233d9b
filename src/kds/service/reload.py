"""Prompts and rules that change while the service runs: read anew, and used when they load.

Watched are the workspace's `prompts/`, and `rules/` and `english/` in its `kds-brain/`, where they
exist, and the two folders they stand in, where the learned examples are, without their other
subfolders (a project has its node_modules there). What a change means is decided by a fingerprint
of the files that count, so KDS's own writes beside them, an editor's temporary files and two events
for one change are no reason to reload. In a service that people share it is taken at each message,
too: 0.2 ms, for which what one of them edits in a shared folder reaches all services at once.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

import watchfiles

from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.router.prompts.texts import FOLDERS
from kds.service.fingerprint import Fingerprint, fingerprint
from kds.service.wire.errors import describe_fault
from kds.service.workspaces import ServedWorkspace

STEP_MS: Final = 200
"""Silence after which a change counts as done, and how often the watcher looks whether it is
to stop: an editor writes a file in less, and five wake-ups a second cost nothing."""

DEBOUNCE_MS: Final = 1_600
"""A change is acted on after this long even when others follow (the default of watchfiles)."""

LOOK_MS: Final = 10_000
"""The fingerprint is taken this often without any event: network file systems send none."""

STOP_S: Final = 10.0
"""Seconds a set that is being read may hold up a stop; it takes one to three."""


class Reloader:
    """Watches the files of every workspace, on a thread of its own, and swaps new parts in."""

    def __init__(self, served: Iterable[ServedWorkspace], log: Callable[[str], None]) -> None:
        self._served = tuple(served)
        self._log = log
        self._settings: dict[str, str | None] = {}
        self._seen = {one.root: _state(one) for one in self._served}
        self._looking = threading.Lock()
        for one in self._served:
            one.look = partial(self._look_at_files, one)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kds-reload", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more, and wait for the thread: it must not outlive the interpreter."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def check(self) -> None:
        """Read anew what has changed since the last look; what is broken changes nothing."""
        for one in self._served:
            self._look_at_files(one)
            self._look_at_settings(one)

    def _look_at_files(self, served: ServedWorkspace) -> None:
        """Read anew what has changed; whoever has a message meanwhile waits, and has the new."""
        with self._looking:
            if _state(served) != self._seen[served.root] and not self._stopping.is_set():
                before = fingerprint(served.workspace)
                self._reload(served)
                self._seen[served.root] = before, served.reload.count

    def _look_at_settings(self, served: ServedWorkspace) -> None:
        """Log once what is wrong with settings, and once that they are right again."""
        wrong, before = served.settings_error, self._settings.get(served.root)
        self._settings[served.root] = wrong
        if wrong is not None and wrong != before:
            self._log(f"settings not read, those before stay in use: {wrong}")
        elif wrong is None and before is not None:
            self._log(f"read the settings of {served.root} again")

    def _reload(self, served: ServedWorkspace) -> None:
        try:
            served.read_anew()
        except KdsError as error:
            served.kept(error)
            self._log(f"reload failed, the last good set stays: {served.reload.error}")
        except Exception as error:  # noqa: BLE001  # the service goes on with what it has
            served.kept(f"internal error: {describe_fault(error)}")
            self._log(f"reload failed, the last good set stays: {served.reload.error}")
        else:
            self._log(f"reloaded prompts and rules of {served.root}")

    def _watch(self) -> None:
        while not self._stopping.is_set():
            folders = watched_folders(one.workspace for one in self._served)
            try:
                self._watch_folders(folders)
            except OSError as error:  # no watches left, or a folder went away meanwhile
                self._log(f"cannot watch for changes, looking instead: {error.strerror or error}")
                self._stopping.wait(LOOK_MS / 1000)
                self.check()

    def _watch_folders(self, folders: frozenset[Path]) -> None:
        """Check after every change, until other folders are to be watched."""
        changes = watchfiles.watch(
            *folders, watch_filter=_counts, debounce=DEBOUNCE_MS, step=STEP_MS,
            rust_timeout=LOOK_MS, yield_on_timeout=True, stop_event=self._stopping,
            raise_interrupt=False, recursive=False,
        )  # fmt: skip
        self.check()  # what changed between the last look and the watch
        for batch in changes:
            self.check()
            replaced = any(Path(path) in folders for _, path in batch)
            if replaced or watched_folders(one.workspace for one in self._served) != folders:
                return


def _state(served: ServedWorkspace) -> tuple[Fingerprint, int]:
    """The files as they are, and how often the set in use was replaced, by whomever.

    A page that saves reads anew by itself; what it saved may be gone again at the next look.
    """
    return fingerprint(served.workspace), served.reload.count


def watched_folders(workspaces: Iterable[Workspace]) -> frozenset[Path]:
    """The folders that exist and in which a change may count; never looked into deeper."""
    return frozenset(
        folder
        for workspace in workspaces
        for folder in (
            workspace.root,
            workspace.brain,
            workspace.rules_dir,
            workspace.english_dir,
            workspace.prompts_dir,
            *(workspace.prompts_dir / name for name in FOLDERS),
        )
        if folder.is_dir()
    )


def _counts(_: watchfiles.Change, path: str) -> bool:
    """Whether a change may matter: a prompt, a file of rules or words, or one of their folders."""
    name = Path(path).name
    return name.endswith((".md", ".yaml")) or name in ("prompts", "rules", "english", *FOLDERS)
