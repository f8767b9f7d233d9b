"""The log of `kds serve --json-log`: all that goes to stderr is JSON, an object a line."""

import json
import logging
import sys
import threading
from typing import Any, TextIO, cast

from kds.brain.clock import moment, utc_now


def log_json(event: str, message: str | None = None, **told: object) -> None:
    """Write a line: when, what, and what is known of it."""
    said = {} if message is None else {"message": message}
    if sys.__stderr__ is not None:
        line = json.dumps({"at": moment(utc_now()), "event": event, **said, **told})
        sys.__stderr__.write(f"{line}\n")
        sys.__stderr__.flush()


def log_all_in_json() -> None:
    """Have all that goes to stderr from now on be JSON: errors of the start, too."""
    if sys.stderr is not None:
        sys.stderr = cast("TextIO", _Lines(sys.stderr))


def log_faults() -> None:
    """Log what libraries and threads say as the service's own lines.

    Of an error only its kind and place: its text may quote a message.
    """
    from kds.service.errors import describe_fault  # late: with `log_all_in_json` errors are few

    def uncaught(fault: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
        error = fault.exc_value and describe_fault(fault.exc_value)
        log_json("log", "an error that nobody caught", level="ERROR", error=error)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info and record.exc_info[1]
            told = {"level": record.levelname, "logger": record.name}
            log_json("log", record.getMessage(), **told, error=error and describe_fault(error))

    threading.excepthook = sys.unraisablehook = uncaught
    logging.basicConfig(handlers=[Handler()], force=True)
    logging.captureWarnings(True)


class _Lines:
    """A stream whose text becomes messages of the log."""

    def __init__(self, below: TextIO) -> None:
        self._below = below
        self._begun = ""

    def write(self, text: str, /) -> int:
        self._begun += text
        if self._begun.endswith("\n"):
            said, self._begun = self._begun.strip(), ""
            if said:
                log_json("stderr", said)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)
