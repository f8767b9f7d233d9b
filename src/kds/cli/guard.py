"""What a user sees when something goes wrong: `kds: ...`, a fix, an exit code, no traceback."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Final

import click

from kds.brain.errors import KdsError

TESTS_FAILED: Final = 1
BAD_INPUT: Final = 2
INTERNAL: Final = 70
"""EX_SOFTWARE of sysexits(3): a fault in KDS itself."""
INTERRUPTED: Final = 128 + int(signal.SIGINT)
PIPE_CLOSED: Final = 128 + 13
"""What a shell reports for SIGPIPE, which is number 13 wherever it exists."""

DEBUG: Final = "KDS_DEBUG"

_HELP_SHOWN: Final = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""A group called without a subcommand; click before 8.2 prints the help itself."""


class Refusal(click.UsageError):
    """Bad usage, with the fix to print under it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def guarded(run: Callable[[], object]) -> int:
    """Call ``run`` and return the exit code; every error becomes lines on stderr."""
    _prepare_streams()
    try:
        result = run()
        if sys.stdout is not None:  # None: the shell has closed it
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _leave_pipe()
    except click.UsageError as error:
        return _bad_usage(error)
    except click.ClickException as error:
        complain(error.format_message())
        return BAD_INPUT
    except KdsError as error:
        complain_about(error)
        return BAD_INPUT
    except OSError as error:
        return _unwritable(error)
    except Exception as error:  # noqa: BLE001  # the last resort: a user never meets a traceback
        return _internal(error)
    return result if isinstance(result, int) else 0


def complain(message: str, hint: str | None = None) -> None:
    """Write one error to stderr: `kds: message`, and the fix below it."""
    click.echo(f"kds: {message}", err=True)
    if hint:
        click.echo(f"  fix: {hint}", err=True)


def complain_about(error: KdsError) -> None:
    """Write a KDS error to stderr, with where it is and how to fix it."""
    click.echo(f"kds: {error}", err=True)


def _bad_usage(error: click.UsageError) -> int:
    if isinstance(error, _HELP_SHOWN):
        click.echo(error.format_message(), err=True)
    else:
        complain(error.format_message(), _usage_hint(error))
    return BAD_INPUT


def _unwritable(error: OSError) -> int:
    """A file or stream outside KDS failed: a full disk, a terminal that is gone."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    named = f"{error.filename}: " if error.filename else ""
    complain(f"{named}{error.strerror or error}", "check the disk and where the output goes")
    _leave_pipe()
    return BAD_INPUT


def _usage_hint(error: click.UsageError) -> str:
    if isinstance(error, Refusal):
        return error.hint
    return f"see {error.ctx.command_path} --help" if error.ctx else "see kds --help"


def _internal(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    name, text = type(error).__name__, " ".join(str(error).split())
    complain(
        f"internal error: {name}: {text}"[:500],
        f"run it again with {DEBUG}=1 for the trace, and report that",
    )
    return INTERNAL


def _leave_pipe() -> int:
    # Python flushes stdout once more at exit, and would complain about it again.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _prepare_streams() -> None:
    """Make bytes that are no text harmless: they print escaped, and read as surrogates."""
    for stream, errors in (
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
        (sys.stdin, "surrogateescape"),
    ):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
