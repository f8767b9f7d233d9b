"""Files that were sent, not named by a path: kept in `kds-brain/uploads/` and read from there."""

import re
from pathlib import Path
from typing import Final

from kds.brain.documents.values import UPLOADS
from kds.brain.files import locked, make_private_folder, replace_private
from kds.brain.workspace import Workspace
from kds.readers.reading import readable_kind

MOST_CHARS: Final = 120
"""Of a file's name: far below what file systems take, in any script."""

LOCK_S: Final = 5.0

_UNSAFE: Final = re.compile(r"[^\w. ()+,=@-]+")


def keep_upload(workspace: Workspace, name: str, content: bytes) -> Path:
    """Write a file that was sent, and say where. One of the same name is replaced.

    Only the last part of ``name`` counts, without signs that mean something to a file system.
    Raises DocumentError for a kind that cannot be read, WorkspaceError and StoreError.
    """
    plain = safe_name(name)
    path = workspace.brain / UPLOADS / plain
    readable_kind(Path(plain))
    workspace.ensure()
    make_private_folder(path.parent)
    with locked(path, timeout_s=LOCK_S):
        replace_private(path, content)
    return path


def safe_name(name: str) -> str:
    r"""The name under which a file is kept.

    >>> safe_name("../../etc/pass wd.md"), safe_name("C:\\docs\\plan: A.md"), safe_name(".hidden")
    ('pass wd.md', 'plan- A.md', 'hidden')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = _UNSAFE.sub("-", last).strip(" .") or "document"
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:MOST_CHARS]}{dot}{ending[:10]}" if dot else plain[:MOST_CHARS]
