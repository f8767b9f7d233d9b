"""Files in a workspace that only KDS writes, and believes: those that this user's KDS wrote there.

A cloned project can bring along whatever it likes in `kds-brain/`: a token that its author knows, a
cache that says of a pattern that it was checked. So a receipt is kept in the user's own folder,
one for each place, which names the content that was written there last. A file without one counts
as not there. Receipts for places that are gone go with the next that is written.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.private_file import (
    make_private_folder,
    read_private,
    remove_private,
    replace_private,
)
from kds.brain.whereabouts import own_folder

FOLDER: Final = "receipts"


def read_own(path: Path) -> bytes | None:
    """Return the content of a file if it is what `replace_own` wrote there last, else None.

    Raises StoreError when the file cannot be read.
    """
    content = read_private(path)
    if content is None:
        return None
    with suppress(StoreError):
        if read_private(_receipt(path)) == _statement(path, content):
            return content
    return None


def replace_own(path: Path, content: bytes) -> None:
    """Write a file as `replace_private` does, and its receipt. Raises StoreError."""
    replace_private(path, content)
    receipt = _receipt(path)
    try:
        receipt.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        where = str(receipt.parent.parent)
        raise StoreError(f"cannot make it: {error.strerror}", where=where) from error
    make_private_folder(receipt.parent)
    _sweep(receipt.parent)
    replace_private(receipt, _statement(path, content))


def _receipt(path: Path) -> Path:
    name = hashlib.sha256(_place(path).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(own_folder(), FOLDER, name)


def _statement(path: Path, content: bytes) -> bytes:
    said = {"place": _place(path), "sha256": hashlib.sha256(content).hexdigest()}
    return json.dumps(said).encode()


def _place(path: Path) -> str:
    return str(path.parent.resolve() / path.name)


def _sweep(folder: Path) -> None:
    """Remove the receipts of places where nothing is any more."""
    for receipt in folder.iterdir():
        with suppress(StoreError, OSError, ValueError, KeyError, TypeError):
            if not Path(json.loads(read_private(receipt) or b"{}")["place"]).exists():
                remove_private(receipt)
