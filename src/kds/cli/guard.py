"""What a user sees when something goes wrong: `kds: ...`, a fix, an exit code, no traceback.

A program that asked for JSON gets it on stdout as well, as one JSON object.
"""

import difflib
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import click

from kds.brain.errors import ConfigError, KdsError, Problem
from kds.cli.palette import toned
from kds.cli.terminal import guard_streams

TESTS_FAILED: Final = 1
BAD_INPUT: Final = 2
INTERNAL: Final = 70
"""EX_SOFTWARE of sysexits(3): a fault in KDS itself."""
INTERRUPTED: Final = 128 + int(signal.SIGINT)
PIPE_CLOSED: Final = 128 + 13
"""What a shell reports for SIGPIPE, which is number 13 wherever it exists."""

DEBUG: Final = "KDS_DEBUG"

_NO_COMMAND: Final = "No such command"
_NO_CHOICE: Final = re.compile(r"'(.*?)' is not one of")
"""How click words a value that is none of an option's choices (click/types.py, Choice)."""

_LINE_ENDS: Final = re.compile(r"\s*\n\s*")
"""click puts every choice of an argument that is missing on a line of its own."""

_HELP_SHOWN: Final = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""A group called without a subcommand; click before 8.2 prints the help itself."""


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

    With ``as_json`` it is told on stdout too: ``{"error": {"message", "where", "hint"}}``, with
    "problems" beside them when a file is wrong.
    """
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
    except Exception as error:  # noqa: BLE001  # the last resort: a user never meets a traceback
        told = _explained(error)
        if as_json:
            _print_failure(told)
        if isinstance(error, OSError):
            _leave_pipe()
        return BAD_INPUT if isinstance(error, _EXPECTED) else INTERNAL
    return result if isinstance(result, int) else 0


def problem_rows(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """The faults of files as JSON has them."""
    return [{"where": one.where, "message": one.message, "hint": one.hint} for one in problems]


def complain(message: str, hint: str | None = None) -> None:
    """Write one error to stderr: `kds: message`, and the fix below it."""
    click.echo(f"{toned('kds:', 'problem', err=True)} {message}", err=True)
    if hint:
        click.echo(f"  {toned('fix:', 'ok', err=True)} {hint}", err=True)


def pass_on(warnings: Iterable[str]) -> None:
    """Tell on stderr what was found and put right, or passed over."""
    for warning in warnings:
        complain(warning)


def complain_about(error: KdsError) -> None:
    """Write a KDS error to stderr, with where it is and how to fix it."""
    text = str(error).replace("\n  fix:", f"\n  {toned('fix:', 'ok', err=True)}")
    click.echo(f"{toned('kds:', 'problem', err=True)} {text}", err=True)


_EXPECTED: Final = (click.ClickException, KdsError, OSError)
"""What a user or the system can bring about; anything else is a fault in KDS."""


def _explained(error: Exception) -> dict[str, object]:
    """Write ``error`` to stderr, and return it as a program is told of it."""
    if isinstance(error, KdsError):
        complain_about(error)
        told = {"message": error.message, "where": error.where, "hint": error.hint}
        problems = problem_rows(error.problems) if isinstance(error, ConfigError) else []
        return told | ({"problems": problems} if problems else {})
    if isinstance(error, _HELP_SHOWN):
        click.echo(error.format_message(), err=True)
        return {"message": "a subcommand is missing", "where": None, "hint": "see --help"}
    if os.environ.get(DEBUG) and not isinstance(error, click.ClickException):
        traceback.print_exception(error)
    message, hint = _said_of(error)
    complain(message, hint)
    return {"message": message, "where": None, "hint": hint}


def _said_of(error: Exception) -> tuple[str, str | None]:
    """What to say of an error that is none of KDS's own, and how to mend it."""
    if isinstance(error, click.ClickException):
        hint = _usage_hint(error) if isinstance(error, click.UsageError) else None
        if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
            return f"no such option '{error.option_name}'", hint  # click would name --version
        return _LINE_ENDS.sub(" ", error.format_message()), hint
    if isinstance(error, OSError):  # outside KDS: a full disk, a terminal that is gone
        message = f"{error.filename}: " if error.filename else ""
        message += str(error.strerror or error)
        if isinstance(error, PermissionError):
            return message, "give yourself permission"
        return message, "check the disk and where the output goes"
    name, text = type(error).__name__, " ".join(str(error).split())
    hint = f"run it again with {DEBUG}=1 for the trace, and report that"
    return f"internal error: {name}: {text}"[:500], hint


def _print_failure(told: Mapping[str, object]) -> None:
    import json  # 7 ms: only an error pays

    with suppress(OSError):  # stdout may be what is broken
        click.echo(json.dumps({"error": told}, indent=2))


def _usage_hint(error: click.UsageError) -> str:
    if isinstance(error, Refusal):
        return error.hint
    if near := _near_choice(error):
        return f"did you mean '{near}'?"
    if lister := _lister(error):
        return f"try {lister}"
    if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
        return "options of a command stand behind it: kds status --json"
    if names := _subcommands(error):
        return f"{_alone(error)} has: {', '.join(names)}"
    return f"see {error.ctx.command_path} --help" if error.ctx else "see the command's --help"


def _alone(error: click.UsageError) -> str:
    """The group, and that it lists or shows something by itself, as `kds agents` does."""
    if error.ctx is None:
        return "kds"
    path, group = error.ctx.command_path, error.ctx.command
    by_itself = isinstance(group, click.Group) and group.invoke_without_command
    shows = by_itself and (group.help or "").startswith(("List", "Show"))
    return f"try {path} alone; it also" if shows else path


def _subcommands(error: click.UsageError) -> list[str]:
    """What a group has to offer to whoever named a subcommand that it has not."""
    group = error.ctx.command if error.ctx else None
    if not isinstance(group, click.Group) or not error.message.startswith(_NO_COMMAND):
        return []
    # Looked up by name, each command would be loaded with all that it needs.
    hidden = {name for name, command in group.commands.items() if command.hidden}
    return [one for one in group.list_commands(click.Context(group)) if one not in hidden]


def _lister(error: click.UsageError) -> str | None:
    """The subcommand that lists, where `list` was meant by another name."""
    if not error.message.startswith((f"{_NO_COMMAND} 'list'", f"{_NO_COMMAND} 'ls'")):
        return None
    ctx, group = error.ctx, error.ctx.command if error.ctx else None
    if ctx is None or not isinstance(group, click.Group):
        return None
    found = ((name, group.get_command(ctx, name)) for name in _subcommands(error))
    lists = (name for name, one in found if one and (one.help or "").startswith("List"))
    return next((f"{ctx.command_path} {name}" for name in lists), None)


def _near_choice(error: click.UsageError) -> str | None:
    """The choice of an option that is most like what was given for it."""
    kind = error.param.type if isinstance(error, click.BadParameter) and error.param else None
    given = _NO_CHOICE.search(error.message)
    if not isinstance(kind, click.Choice) or given is None:
        return None
    choices = [str(choice) for choice in kind.choices]
    return next(iter(difflib.get_close_matches(given[1], choices, n=1)), None)


def _leave_pipe() -> int:
    # Python flushes stdout once more at exit, and would complain about it again.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _prepare_streams() -> None:
    """Make harmless what is no text: it prints escaped, and bytes read as surrogates."""
    for stream, errors in (
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
        (sys.stdin, "surrogateescape"),
    ):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
    guard_streams()
