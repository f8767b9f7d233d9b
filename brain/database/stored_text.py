"""What of a text the memory keeps: all of it, code too, with secrets replaced by marks."""

from kds.brain.message import without_controls
from kds.brain.secrets.redaction import redacted


def kept_text(text: str) -> str:
    r"""Return ``text`` as it may be stored; applying it again changes nothing.

    >>> kept_text("log in with password: hunter2\r\n")
    'log in with password: [secret: password]\n'
    """
    return redacted(without_controls(text))
