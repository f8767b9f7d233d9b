"""What every command begins with: its options, the message, the workspace and its stores."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
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
from kds.cli.command import JSON, MessageCommand, with_examples
from kds.cli.guard import Refusal, complain, pass_on
from kds.hooks.call import start_service

if TYPE_CHECKING:  # 0.2 s of imports: a warm `kds route` opens no store
    from kds.brain.passages.store import Embedder, PassageStore, Place

Decorator = Callable[[Any], Any]
S = TypeVar("S", bound="PassageStore")

COUNT: Final = click.IntRange(1)
"""A number of things: at least one."""
FILE: Final = click.Path(path_type=Path, dir_okay=False)
PATH: Final = click.Path(path_type=Path)

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN: Final = re.compile(r"(\d{1,6}(?:\.\d+)?)([smhdw]?)", re.IGNORECASE)


def find_workspace(folder: Path | None) -> Workspace:
    """Find the workspace at ``folder`` (as $KDS_HOME would name it), or from here upwards.

    Raises WorkspaceError when the folder that ``folder`` or $KDS_HOME names is missing.
    """
    named, hint = folder, "check --workspace"
    found = Workspace.find(environ={HOME_VARIABLE: str(folder)}) if folder else Workspace.find()
    if folder is None and os.environ.get(HOME_VARIABLE, "").strip():
        named, hint = found.root, f"check ${HOME_VARIABLE}, or unset it"
    if named is not None and not named.is_dir():
        raise WorkspaceError("no such folder", where=str(named), hint=hint)
    return found


def _workspace(ctx: click.Context, _: click.Parameter, folder: Path | None) -> Path | Workspace:
    """The workspace, which need not exist yet; for a group the path, which its commands take."""
    if isinstance(ctx.command, click.Group):
        return folder  # type: ignore[return-value]  # None where it was not given
    above = ctx.parent.params.get("workspace") if ctx.parent else None
    return find_workspace(folder or above)


WORKSPACE: Final = click.Option(
    ["--workspace", "-w"], type=PATH, metavar="DIR", callback=_workspace,
    help="Folder of the workspace, the one with kds-brain/.  [default: $KDS_HOME, else searched]",
)  # fmt: skip
JSON_OPTION: Final = click.Option(
    ["--json"], is_flag=True, help="Print JSON.", expose_value=False,
    callback=lambda ctx, _, asked: ctx.meta.update({JSON: asked or ctx.meta.get(JSON, False)}),
)  # fmt: skip
"""Read by `kds.cli.command.asked_json`."""
COMMON: Final = (WORKSPACE, JSON_OPTION)


def option(
    form: str, says: str, *, to: str | None = None, default: Any = None, **settings: Any
) -> Decorator:
    """An option, written as its help shows it: ``option("--limit N", "Most hits.", default=10)``.

    ``to`` is the name of the argument, where that is not the option's own.
    """
    name, _, metavar = form.partition(" ")
    if default is not None:
        says += f"  [default: {default}]"
        settings["default"] = default
    return click.option(*filter(None, (name, to)), metavar=metavar or None, help=says, **settings)


def flag(name: str, says: str, *, to: str | None = None, **settings: Any) -> Decorator:
    """An option without a value."""
    return click.option(*filter(None, (name, to)), is_flag=True, help=says, **settings)


def choice(name: str, choices: Sequence[str], says: str, **settings: Any) -> Decorator:
    """An option with one of some values, or several with ``multiple``."""
    return option(name, says, type=click.Choice(choices), **settings)


def command(
    *examples: str, of: click.Group | None = None, name: str | None = None, closing: str = "",
    message: bool = False, common: Sequence[click.Option] = COMMON, **settings: Any,
) -> Callable[[Callable[..., Any]], click.Command]:  # fmt: skip
    """Make a command of a function, in the group ``of``, with the ``common`` options at its end.

    Its ``examples`` are shown below its help, and the lines of ``closing`` below them. Of a
    ``message`` words may begin with a dash.
    """
    make: Any = of.command if of else click.command
    cls = MessageCommand if message else click.Command
    decorate = make(name, cls, epilog=with_examples(examples, closing), **settings)
    return lambda function: decorate(_with(function, common))


def group(
    *examples: str, closing: str = "", common: Sequence[click.Option] = (), **settings: Any
) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a group of commands, with examples as a command has them."""
    make: Any = click.group
    decorate = make(epilog=with_examples(examples, closing), **settings)
    return lambda function: decorate(_with(function, common))


def _with(function: Any, options: Sequence[click.Option]) -> Any:
    # click reads this list from its end
    function.__click_params__ = [*options, *getattr(function, "__click_params__", ())]
    return function


context_option = option(
    "--context NAME", "A context of its own, apart from the workspace's.  [default: $KDS_CONTEXT, "
    "else none]", envvar="KDS_CONTEXT",
)  # fmt: skip
"""Whose ten messages count. Terminals share a file, and keep to their own lines of it."""

yes_option = flag("--yes", "Do it; without this it is only shown.")
message_argument = click.argument("words", nargs=-1, metavar="[MESSAGE]")


def question_argument(metavar: str) -> Decorator:
    """What to look for, in one word or several; never empty."""

    def joined(ctx: click.Context, _: click.Parameter, words: tuple[str, ...]) -> str:
        if question := " ".join(words).strip():
            return question
        hint = f"say what to look for: {ctx.command_path} WORDS"
        raise Refusal("the question is empty", hint)

    name = metavar.lower()
    return click.argument(name, metavar=metavar, nargs=-1, required=True, callback=joined)


def read_message(words: tuple[str, ...]) -> str:
    """Return the message, cleaned: the words given, or stdin for `-` or without any.

    Raises Refusal when there is nothing to read from, MessageError when it is empty: both
    before the router is loaded.
    """
    if words and words != ("-",):
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


def start_now(workspace: Workspace) -> None:
    """Start the service of ``workspace`` in the background, unless the settings say otherwise.

    Does nothing just after another start.
    """
    try:
        start_service(str(workspace.root))
    except OSError as error:
        complain(f"the service was not started: {error.strerror or error}")


def start_afterwards(workspace: Workspace) -> None:
    """Start the service once this command is done, so that the two do not compete."""
    click.get_current_context().call_on_close(lambda: start_now(workspace))


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


def embedder_of(workspace: Workspace) -> "Embedder | None":
    """Load the embedding model of the settings; None where it is off. Raises KdsError."""
    from kds.api.embeddings import load_embedder, model_name

    name = model_name(kds.load_settings(workspace).recall.embeddings)
    return load_embedder(name) if name else None


def search_embedder(workspace: Workspace) -> "Embedder | None":
    """As `embedder_of`, but a model that does not load is a warning: words alone are searched."""
    try:
        return embedder_of(workspace)
    except KdsError as error:
        complain(f"{error.message}; searching by words alone; fix: {error.hint}")
        return None
