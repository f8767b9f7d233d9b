"""Arguments and options that several commands share."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click

import kds
from kds.brain.context.origin import Kind, terminal_origin
from kds.brain.discovery import HOME_VARIABLE
from kds.brain.errors import WorkspaceError
from kds.brain.message import clean_message
from kds.brain.turn import WARNING, Utterance
from kds.brain.workspace import Workspace
from kds.cli.command import JSON
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.progress import slow
from kds.hooks.start import start_service
from kds.service.desk import LOADING, Desk

F = TypeVar("F", bound=Callable[..., Any])

STDIN: Final = "-"

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SPAN: Final = re.compile(r"(\d{1,5})([hdw])", re.IGNORECASE)


class NamedPath(click.Path):
    """A path, and not an empty text: that is a variable of the shell that was never set, and would
    be the folder one stands in."""

    def __init__(self, **checks: bool) -> None:
        super().__init__(path_type=Path, **checks)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails on what is empty, and as click's own does."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def find_workspace(folder: Path | None) -> Workspace:
    """Find the workspace at ``folder`` (as $KDS_HOME would name it), or from here upwards.

    Raises WorkspaceError when the folder that ``folder`` or $KDS_HOME names is not there.
    """
    if folder is None:
        found = Workspace.find()
        if os.environ.get(HOME_VARIABLE, "").strip() and not found.root.is_dir():
            raise WorkspaceError(
                "no such folder", where=str(found.root), hint=f"check ${HOME_VARIABLE}, or unset it"
            )
        return found
    if not folder.is_dir():
        raise WorkspaceError("no such folder", where=str(folder), hint="check --workspace")
    return Workspace.find(environ={"KDS_HOME": str(folder)})


def _as_workspace(
    ctx: click.Context, param: click.Parameter, folder: Path | None
) -> Workspace | Path | None:
    """The workspace of a command; the folder alone of a group: a subcommand may name another."""
    return folder if isinstance(ctx.command, click.Group) else find_workspace(folder)


def _note_json(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    ctx.meta[JSON] = asked


workspace_option = click.option(
    "--workspace",
    "-w",
    type=NamedPath(),
    metavar="DIR",
    help="Folder of the workspace, the one with kds-brain/.  [default: $KDS_HOME, else searched]",
    callback=_as_workspace,
)
"""The workspace of the command: a `Workspace`, which need not be there yet; a path for groups."""

json_option = click.option(
    "--json", is_flag=True, help="Print JSON.", expose_value=False, callback=_note_json
)
"""What prints asks for it: `kds.cli.output.asked_json`."""


def common_options(command: F) -> F:
    """`--json` and `--workspace`, which nearly every command takes."""
    return json_option(workspace_option(command))


def errors_option(says: str) -> Callable[[F], F]:
    """`--errors`: where to write what came out wrong."""
    return click.option("--errors", type=NamedPath(dir_okay=False), metavar="OUT.jsonl", help=says)


context_option = click.option(
    "--context", metavar="NAME", envvar="KDS_CONTEXT",
    help="A context of its own, apart from the workspace's.  [default: $KDS_CONTEXT, else none]",
)  # fmt: skip
"""Whose ten messages count. Terminals share a file, and keep to their own lines of it."""

message_argument = click.argument("words", nargs=-1, metavar="[MESSAGE]")


def read_message(words: tuple[str, ...]) -> str:
    """Return the message, cleaned: the words given, or stdin for `-` or none at all.

    Raises Refusal when there is nothing to read from, MessageError when it is empty: both
    before the router is loaded.
    """
    if words and words != (STDIN,):
        return clean_message(" ".join(words))
    if sys.stdin is None or (not words and sys.stdin.isatty()):
        raise Refusal("no MESSAGE given", "put it in quotes, or pipe it in")
    return clean_message(sys.stdin.read())


def read_span(text: str) -> timedelta:
    """Read a span of time. Raises Refusal when it is none.

    >>> [read_span(text).days for text in ("48h", "30d", " 2W ")]
    [2, 30, 14]
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise Refusal(f"'{text}' is no span of time", "write 36h, 30d or 2w")
    return int(found[1]) * _UNITS[found[2].lower()]


def open_router(workspace: Workspace, *, log: bool) -> "kds.Router":
    """Open the router of the workspace, and pass its warnings on to stderr."""
    with slow(LOADING):
        router = kds.Router.open(workspace, log=log)
    pass_on(router.warnings)
    return router


def route_message(
    message: str,
    workspace: Workspace,
    *,
    context: str | None = None,
    log: bool,
    rewrite: bool | None = None,
    may_start: bool = True,
    history: Sequence[Utterance] = (),
) -> "kds.Turn":
    """Route ``message`` by the service of the workspace where one runs, else in this process.

    ``context`` names one of its own; without it the message joins the workspace's, as one that was
    typed in this terminal.

    Where there was none, one is started for the next call, once this one is answered, if it
    ``may_start``: not in a folder that is no workspace yet, and is to stay so.
    """
    desk = Desk(workspace, tell=complain, watch=slow)
    kind: Kind = "prompt-file" if message.startswith("#file:") else "terminal"
    turn = desk.route(
        message,
        conversation=context,
        origin=terminal_origin(kind),
        log=log,
        rewrite=rewrite,
        history=history,
    )
    for note in dict.fromkeys(turn.why):
        if note.startswith(WARNING):  # of the context: a line that cannot be read
            complain(note.removeprefix(WARNING))
    if desk.alone and may_start and (log or workspace.brain.is_dir()):
        start_afterwards(workspace)
    return turn


def start_afterwards(workspace: Workspace) -> None:
    """Start the service of ``workspace`` when this command is done: it must not compete with it.

    Nothing happens where the user switched that off, or while one was started just before.
    """

    click.get_current_context().call_on_close(lambda: start_now(workspace))


def start_now(workspace: Workspace) -> None:
    """Start the service of ``workspace`` in the background, unless the user has it otherwise."""
    try:
        start_service(str(workspace.root), str(workspace.brain))
    except OSError as error:
        complain(f"the service was not started: {error.strerror or error}")


def check_apart(errors: Path | None, file: Path) -> None:
    """Refuse an ``--errors`` that would fail, or do harm, after the work."""
    if errors is None:
        return
    if errors.resolve() == file.resolve():
        raise Refusal("--errors names the file of examples itself", "give it a name of its own")
    check_folder(errors)


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there, before the work that ends with writing it."""
    if not path.absolute().parent.is_dir():
        raise Refusal(f"no such folder '{path.parent}'", "make it, or name another one")


def check_picture(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a picture that could not be written after the work."""
    if path.suffix.lower() not in suffixes:
        raise Refusal(f"cannot draw '{path}'", f"end its name in {' or '.join(suffixes)}")
    check_folder(path)
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise Refusal(f"'{path}' cannot be written", "allow it, or name another one")
