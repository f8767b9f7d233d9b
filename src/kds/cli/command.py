"""Building blocks of commands: examples in the help, messages with dashes, lazy loading."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

JSON: Final = "kds.json"
"""Key of a command's context: whether `--json` was given."""

Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""Heading -> subcommand -> its ``module:name`` in `kds.cli.commands`, and its line in `--help`."""


def asked_json() -> bool:
    """Whether `--json` was given."""
    return bool(click.get_current_context().meta.get(JSON))


def option(
    form: str, says: str, *, to: str | None = None, default: Any = None, **settings: Any
) -> Callable[[Any], Any]:
    """An option, written as its help shows it: ``option("--limit N", "Most hits.", default=10)``.

    ``to`` is the name of the argument, where that is not the option's own.
    """
    name, _, metavar = form.partition(" ")
    if default is not None:
        says += f"  [default: {default}]"
        settings["default"] = default
    words = [name, to] if to else [name]
    return click.option(*words, metavar=metavar or None, help=says, **settings)


def flag(name: str, says: str, *, to: str | None = None, **settings: Any) -> Callable[[Any], Any]:
    """An option without a value."""
    words = [name, to] if to else [name]
    return click.option(*words, is_flag=True, help=says, **settings)


def command(
    *examples: str,
    of: click.Group | None = None,
    name: str | None = None,
    closing: str = "",
    **settings: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, in the group ``of``.

    Its ``examples`` are shown below its help, and the lines of ``closing`` below them.
    """
    make = of.command if of else click.command
    return make(name, epilog=_epilog(examples, closing), **settings)


def group(
    *examples: str, closing: str = "", **settings: Any
) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a group of commands, with examples as a command has them."""
    return click.group(epilog=_epilog(examples, closing), **settings)


class MessageCommand(click.Command):
    """A command that reads an unknown option with a space in it as words of the message.

    Pasted lists, diffs and test results begin with a dash.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; a space in front keeps click from taking words for an option."""
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            read = [f" {word}" if _is_said(word, error.option_name) else word for word in args]
            if read == args:
                raise
        return self.parse_args(ctx, read)


class LateGroup(click.Group):
    """A group that imports a subcommand only when it is called.

    ``hidden`` are subcommands that `--help` does not list.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        sections: Sections,
        hidden: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        super().__init__(name, **settings)  # type: ignore[arg-type]  # what click.command passes on
        self.sections = sections
        self.listed = {
            name: place for group in sections.values() for name, (place, _) in group.items()
        }
        self.places = self.listed | dict(hidden or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those of `--help`, in its order."""
        return list(self.listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one; None when there is none of that name."""
        if cmd_name not in self.places:
            return None
        module, _, name = self.places[cmd_name].partition(":")
        place = importlib.import_module(f"kds.cli.commands.{module}")
        command: click.Command = getattr(place, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines under their headings."""
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


def _epilog(examples: tuple[str, ...], closing: str) -> str:
    """A paragraph below click's ``\\b`` keeps its lines."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    shown = "\n".join(["\b", heading, *(f"  {example}" for example in examples)])
    return f"{shown}\n\n\b\n{closing}" if closing else shown


def _is_said(word: str, option: str) -> bool:
    return word.startswith(option) and len(word.split(maxsplit=1)) > 1
