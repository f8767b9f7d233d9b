"""A link on the user's desktop that opens the page of a workspace.

It runs `kds web`, since the link that lets a browser in works once. Its kind is the system's own: a
desktop entry, a `.command` on macOS, a `.cmd` on Windows.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile, failure
from kds.brain.workspace import Workspace
from kds.service.lifecycle import COMMAND

ICON: Final = Path(__file__).parents[1] / "web/static/icon.svg"


def install_link(workspace: Workspace) -> list[Path]:
    """Write the links, anew where they are there, and say where. Raises KdsError, StoreError."""
    root = str(workspace.root)
    if not root.isprintable():
        raise KdsError("the name of this folder does not fit into a link", where=repr(root),
                       hint="rename the folder")  # fmt: skip
    name, command = f"KDS {workspace.root.name}", (*COMMAND, "web", "--workspace", root)
    folders = [Path.home() / "Desktop"]
    if sys.platform == "win32":
        quoted = " ".join(f'"{one}"' for one in command).replace("%", "%%")
        text, kind = f"@chcp 65001 >nul\r\n@{quoted}\r\n", "cmd"
    elif sys.platform == "darwin":
        text, kind = f"#!/bin/sh\nexec {shlex.join(command)}\n", "command"
    else:
        text, kind, folders = _entry(name, command), "desktop", _folders()
    mark = hashlib.sha256(root.encode(errors="surrogateescape")).hexdigest()[:6]
    file = f"{re.sub(r'[^a-zA-Z0-9_.-]+', '-', name)}-{mark}.{kind}"
    paths = [one / file for one in folders]
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            PrivateFile(path).replace(text.encode(errors="surrogateescape"))
            path.chmod(0o700)  # a desktop starts what may be run
        except OSError as error:
            raise failure("write", path, error) from error
    return paths


def _folders() -> list[Path]:
    """The menu of applications, and the user's desktop if there is one."""
    desktop = Path.home() / "Desktop"
    if program := shutil.which("xdg-user-dir"):  # it may be called "Schreibtisch"
        said = subprocess.run([program, "DESKTOP"], capture_output=True, text=True, check=False)
        desktop = Path(said.stdout.strip() or desktop)
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    menu = (data if data.is_absolute() else Path.home() / ".local/share") / "applications"
    return [menu, desktop] if desktop.is_dir() and desktop != Path.home() else [menu]


def _entry(name: str, command: tuple[str, ...]) -> str:
    # what an argument of `Exec` escapes (freedesktop.org, desktop-entry-spec)
    quoted = " ".join('"' + re.sub(r'["`$\\]', r"\\\g<0>", one) + '"' for one in command)
    values = {"Type": "Application", "Name": name, "Exec": quoted.replace("%", "%%"),
              "Icon": str(ICON), "Comment": "The web page of KDS"}  # fmt: skip
    lines = [f"{key}={one}\n".replace("\\", r"\\") for key, one in values.items()]
    return f"[Desktop Entry]\n{''.join(lines)}"
