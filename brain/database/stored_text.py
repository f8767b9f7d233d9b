"""What of a text the memory keeps: all of it, code too, with secrets replaced by marks."""

import re
from typing import Final

from kds.brain.message import well_formed
from kds.brain.secrets.redaction import redact_secrets

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""C0 controls but for tab and line feed: SQLite's text functions stop at NUL, and terminals
obey the others."""


def kept_text(text: str) -> str:
    r"""Return ``text`` as it may be stored; applying it again changes nothing.

    >>> kept_text("log in with password: hunter2\r\n")
    'log in with password: [secret: password]\n'
    """
    text = well_formed(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROLS.sub("", text)
    while True:
        # What a mark leaves beside it may be a secret by itself; nearly always one round more.
        before, text = text, redact_secrets(text)
        if text == before:
            return text
