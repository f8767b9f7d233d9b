"""A link that opens the page of a workspace: in the menu of applications, or on the desktop.

It runs `kds web`, since the link that lets a browser in works once. Its kind is the system's own: a
desktop entry, a `.command` on macOS, a `.cmd` on Windows.
"""

import hashlib
import os
import re
import shlex
import sys
from pathlib import Path

from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile, failure
from kds.brain.workspace import Workspace
from kds.service.lifecycle import COMMAND


def install_link(workspace: Workspace) -> Path:
    """Write the link, anew where it is there, and say where. Raises KdsError, StoreError."""
    root = str(workspace.root)
    if not root.isprintable():
        raise KdsError("the name of this folder does not fit into a link", where=repr(root),
                       hint="rename the folder")  # fmt: skip
    name, command = f"KDS {workspace.root.name}", (*COMMAND, "web", "--workspace", root)
    folder, words = Path.home() / "Desktop", [f'"{one}"' for one in command]
    if sys.platform == "win32":
        text, kind = f"@chcp 65001 >nul\r\n@{' '.join(words).replace('%', '%%')}\r\n", "cmd"
    elif sys.platform == "darwin":
        text, kind = f"#!/bin/sh\nexec {shlex.join(command)}\n", "command"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME", ""))
        folder = (data if data.is_absolute() else Path.home() / ".local/share") / "applications"
        # what an argument of `Exec` escapes (freedesktop.org, desktop-entry-spec)
        words = ['"' + re.sub(r'["`$\\]', r"\\\g<0>", one) + '"' for one in command]
        run = " ".join(words).replace("%", "%%").replace("\\", r"\\")
        shown = name.replace("\\", r"\\")
        icon = Path(__file__).parents[1] / "web/static/icon.svg"
        text = f"[Desktop Entry]\nType=Application\nName={shown}\nExec={run}\nIcon={icon}\n"
        kind = "desktop"
    mark = hashlib.sha256(root.encode(errors="surrogateescape")).hexdigest()[:6]
    path = folder / f"{re.sub(r'[^a-zA-Z0-9_.-]+', '-', name)}-{mark}.{kind}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        PrivateFile(path).replace(text.encode(errors="surrogateescape"))
        path.chmod(0o700)  # a desktop starts what may be run
    except OSError as error:
        raise failure("write", path, error) from error
    return path
