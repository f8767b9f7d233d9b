"""Errors as users see them: `kds: ...`, a fix and an exit code, never a traceback.

With --json the error also goes to stdout, as one JSON object.
"""

import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

import click

from kds.brain.errors import ConfigError, KdsError
from kds.cli.terminal import guard_streams, toned

TESTS_FAILED: Final = 1
BAD_INPUT: Final = 2
INTERNAL: Final = 70
"""EX_SOFTWARE of sysexits(3): a bug in KDS."""
INTERRUPTED: Final = 128 + int(signal.SIGINT)
PIPE_CLOSED: Final = 128 + 13
"""What a shell reports for SIGPIPE, which is number 13 wherever it exists."""

DEBUG: Final = "KDS_DEBUG"

_LINE_ENDS: Final = re.compile(r"\s*\n\s*")
"""click puts every choice of a missing argument on a line of its own."""


class Refusal(click.UsageError):
    """Bad usage, with the fix to print under it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether ``--json`` is among the options.

    >>> wants_json(["route", "--json", "x"]), wants_json(["route", "--", "--json"])
    (True, False)
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def guarded(run: Callable[[], object], *, as_json: bool = False) -> int:
    """Call ``run`` and return the exit code; every error becomes lines on stderr.

    With ``as_json`` stdout has ``{"error": {"message", "where", "hint"}}``, with "problems" beside
    them when a file is wrong.
    """
    for stream, errors in (
        (sys.stdout, "backslashreplace"),  # what it cannot encode
        (sys.stderr, "backslashreplace"),
        (sys.stdin, "surrogateescape"),  # any bytes
    ):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
    guard_streams()
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
    except Exception as error:  # noqa: BLE001  # the last resort: a user never meets a traceback
        told = _explained(error)
        if as_json:
            import json  # 7 ms: only an error pays

            with suppress(OSError):  # stdout may be what is broken
                click.echo(json.dumps({"error": told}, indent=2))
        if isinstance(error, OSError):
            _leave_pipe()
        expected = isinstance(error, click.ClickException | KdsError | OSError)
        return BAD_INPUT if expected else INTERNAL
    return result if isinstance(result, int) else 0


def complain(message: str, hint: str | None = None) -> None:
    """Write one error to stderr: `kds: message`, and the fix below it."""
    fix = f"\n  {toned('fix:', 'ok', err=True)} {hint}" if hint else ""
    click.echo(f"{toned('kds:', 'problem', err=True)} {message}{fix}", err=True)


def pass_on(warnings: Iterable[str]) -> None:
    """Write warnings to stderr."""
    for warning in warnings:
        complain(warning)


def complain_about(error: KdsError) -> None:
    """Write a KDS error to stderr, with its place and its fix."""
    complain(str(error).replace("\n  fix:", f"\n  {toned('fix:', 'ok', err=True)}"))


def _explained(error: Exception) -> dict[str, object]:
    """Write ``error`` to stderr, and return its JSON form."""
    hint: str | None
    match error:
        case KdsError():
            complain_about(error)
            told = {name: getattr(error, name) for name in ("message", "where", "hint")}
            if isinstance(error, ConfigError):
                told["problems"] = list(map(asdict, error.problems))
            return told
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return {"message": "a subcommand is missing", "where": None, "hint": "see --help"}
        case click.ClickException():
            message, hint = _LINE_ENDS.sub(" ", error.format_message()), _usage_hint(error)
            if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
                message = f"no such option '{error.option_name}'"  # click would name --version
        case OSError():  # a full disk, a terminal that is gone
            place = f"{error.filename}: " if error.filename else ""
            message, hint = place + str(error.strerror or error), "check the disk and the output"
            if isinstance(error, PermissionError):
                hint = "give yourself permission"
        case _:
            if os.environ.get(DEBUG):
                traceback.print_exception(error)
            text = f"{type(error).__name__}: {' '.join(str(error).split())}"
            message = f"internal error: {text}"[:500]
            hint = f"run it again with {DEBUG}=1 for the trace, and report that"
    complain(message, hint)
    return {"message": message, "where": None, "hint": hint}


def _usage_hint(error: click.ClickException) -> str | None:
    if isinstance(error, Refusal):
        return error.hint
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return "see the command's --help"
    group, path = error.ctx.command, error.ctx.command_path
    if isinstance(error, click.NoSuchOption) and error.ctx.parent is None:
        return "kds status --json: behind the command"
    kind = error.param and error.param.type if isinstance(error, click.BadParameter) else None
    if isinstance(kind, click.IntRange):
        return f"give a whole number from {kind.min}" + (f" to {kind.max}" if kind.max else "")
    if isinstance(group, click.Group) and error.message.startswith("No such command"):
        return f"{path} has: {', '.join(sorted(group.list_commands(error.ctx)))}"
    return f"see {path} --help"


def _leave_pipe() -> int:
    # Python flushes stdout once more at exit, and would complain about it again.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED
