"""Shared by several commands: arguments, options, the router and the stores."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import kds
from kds.brain.clock import utc_now
from kds.brain.environment import HOME_VARIABLE
from kds.brain.errors import KdsError, WorkspaceError
from kds.brain.message import clean_message
from kds.brain.workspace import Workspace
from kds.cli.command import JSON, option
from kds.cli.command import command as bare_command
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.terminal import slow
from kds.hooks.call import start_service
from kds.service.service_client import LOADING

if TYPE_CHECKING:  # 0.2 s of imports: a warm `kds route` opens no store
    from kds.brain.passages.store import Embedder, PassageStore, Place

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound="PassageStore")

STDIN: Final = "-"


class Whole(click.IntRange):
    """A whole number within limits, which a refusal names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it. Raises Refusal."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            name = param.opts[0] if param else "number"
            limits = (
                f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            )
            raise Refusal(f"invalid {name} '{value}'", f"give a whole number {limits}") from error


COUNT: Final = Whole(1)
"""A number of things: at least one."""

FILE: Final = click.Path(path_type=Path, dir_okay=False)
PATH: Final = click.Path(path_type=Path)

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN: Final = re.compile(r"(\d{1,6}(?:\.\d+)?)([smhdw]?)", re.IGNORECASE)


def find_workspace(folder: Path | None) -> Workspace:
    """Find the workspace at ``folder`` (as $KDS_HOME would name it), or from here upwards.

    Raises WorkspaceError when the folder that ``folder`` or $KDS_HOME names is missing.
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


def _of_group(ctx: click.Context) -> Path | None:
    """The folder that was given before the name of a subcommand, which may name another one."""
    return ctx.parent.params.get("workspace") if ctx.parent else None


workspace_option = click.option(
    "--workspace",
    "-w",
    type=PATH,
    metavar="DIR",
    help="Folder of the workspace, the one with kds-brain/.  [default: $KDS_HOME, else searched]",
    callback=lambda ctx, _, folder: (
        folder if isinstance(ctx.command, click.Group) else find_workspace(folder or _of_group(ctx))
    ),
)
"""The workspace of the command: a `Workspace`, which need not exist yet; a path for groups."""

json_option = click.option(
    "--json", is_flag=True, help="Print JSON.", expose_value=False,
    callback=lambda ctx, _, asked: ctx.meta.update({JSON: asked or ctx.meta.get(JSON, False)}),
)  # fmt: skip
"""Read by `kds.cli.command.asked_json`."""

context_option = click.option(
    "--context", metavar="NAME", envvar="KDS_CONTEXT",
    help="A context of its own, apart from the workspace's.  [default: $KDS_CONTEXT, else none]",
)  # fmt: skip
"""Whose ten messages count. Terminals share a file, and keep to their own lines of it."""

embeddings_option = option(
    "--embeddings MODULE:CLASS",
    "Embedding model: one of yours, shipped or off.  [default: that of the settings, else shipped]",
)

message_argument = click.argument("words", nargs=-1, metavar="[MESSAGE]")


def question_argument(metavar: str) -> Callable[[F], F]:
    """What to look for, in one word or several; never empty."""

    def joined(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str:
        if question := " ".join(words).strip():
            return question
        hint = f"say what to look for: {ctx.command_path} WORDS"
        raise Refusal("the question is empty", hint)

    return click.argument(
        metavar.lower(), metavar=metavar, nargs=-1, required=True, callback=joined
    )


def common_options(command: F) -> F:
    """`--json` and `--workspace`, which nearly every command takes, behind its own options."""
    own = list(getattr(command, "__click_params__", ()))
    vars(command)["__click_params__"] = []  # help lists first what was added last
    json_option(workspace_option(command))
    vars(command)["__click_params__"] += own
    return command


def command(*examples: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the common options, else as `kds.cli.command` makes it."""
    make = bare_command(*examples, **settings)
    return lambda function: make(common_options(function))


def read_message(words: tuple[str, ...]) -> str:
    """Return the message, cleaned: the words given, or stdin for `-` or without any.

    Raises Refusal when there is nothing to read from, MessageError when it is empty: both
    before the router is loaded.
    """
    if words and words != (STDIN,):
        return clean_message(" ".join(words))
    if sys.stdin is None or (not words and sys.stdin.isatty()):
        raise Refusal("no MESSAGE given", "put it in quotes, or pipe it in")
    return clean_message(sys.stdin.read())


def read_span(text: str) -> timedelta:
    """Read a duration; a number alone is seconds. Raises Refusal.

    >>> [str(read_span(text)) for text in ("90s", "1.5h", "30d", " 2W ", "0")]
    ['0:01:30', '1:30:00', '30 days, 0:00:00', '14 days, 0:00:00', '0:00:00']
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise Refusal(f"invalid duration '{text}'", "write 90s, 30m, 36h, 30d or 2w")
    return timedelta(**{_UNITS[found[2].lower() or "s"]: float(found[1])})


def ago(text: str) -> datetime:
    """Read a duration as the moment that long ago. Raises Refusal."""
    return utc_now() - read_span(text)


def open_router(workspace: Workspace, *, log: bool) -> "kds.Router":
    """Open the router of the workspace, and pass its warnings on to stderr."""
    with slow(LOADING):
        router = kds.Router.open(workspace, log=log)
    pass_on(router.warnings)
    return router


def start_afterwards(workspace: Workspace) -> None:
    """Start the service once this command is done, so that the two do not compete.

    Does nothing if the user switched that off, or just after another start.
    """
    click.get_current_context().call_on_close(lambda: start_now(workspace))


def start_now(workspace: Workspace) -> None:
    """Start the service of ``workspace`` in the background, unless the settings say otherwise."""
    try:
        start_service(str(workspace.root))
    except OSError as error:
        complain(f"the service was not started: {error.strerror or error}")


@contextmanager
def looking(place: "Place[S]") -> Iterator[S | None]:
    """Open a store for reading and pass on its warnings; None if it does not exist."""
    with place.if_any() as store:
        pass_on(store.take_warnings() if store else ())
        yield store
        pass_on(store.take_warnings() if store else ())


@contextmanager
def changing(place: "Place[S]") -> Iterator[S]:
    """Open a store for writing, creating it if needed, and pass on its warnings.

    Raises ExposedError when git would commit what is stored there.
    """
    place.prepare()
    with place.open() as store:
        pass_on(store.take_warnings())
        yield store
        pass_on(store.take_warnings())


def chosen_embedder(name: str | None, workspace: Workspace) -> "Embedder | None":
    """Load the model that was named, else that of the settings; None where it is off."""
    from kds.api.embeddings import load_embedder, model_name

    name = model_name(name or kds.load_settings(workspace).recall.embeddings)
    return load_embedder(name) if name else None


def search_embedder(workspace: Workspace, name: str | None = None) -> "Embedder | None":
    """Load the named embedding model, or that of the settings.

    None, to search by words alone, if it is off or does not load.
    """
    try:
        return chosen_embedder(name, workspace)
    except KdsError as error:
        complain(f"{error.message}; searching by words alone; fix: {error.hint}")
        return None
