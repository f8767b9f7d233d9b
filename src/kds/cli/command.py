"""What all commands are made with: examples below the help, messages with dashes, late loading."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

JSON: Final = "kds.json"
"""Where a command's context says whether `--json` was given."""

Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""Heading -> subcommand -> its ``module:name`` in `kds.cli`, and its line in `--help`."""


def asked_json() -> bool:
    """Whether `--json` was given."""
    return bool(click.get_current_context().meta.get(JSON))


def command(
    *examples: str,
    of: click.Group | None = None,
    name: str | None = None,
    closing: str = "",
    **settings: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, in the group ``of``.

    Its ``examples`` stand below its help, and lines in ``closing`` below them.
    """
    make = of.command if of else click.command
    return make(name, epilog=_epilog(examples, closing), **settings)


def group(
    *examples: str, closing: str = "", **settings: Any
) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a group of commands, with examples as a command has them."""
    return click.group(epilog=_epilog(examples, closing), **settings)


class MessageCommand(click.Command):
    """A command that takes what click knows as no option for words, if there is a space in it.

    Pasted lists, diffs and results of tests begin with a dash.
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
    """Lists its subcommands without loading them: the others' imports are not worth a wrong word.

    ``hidden`` are those that `--help` does not list: their places alone.
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
        command: click.Command = getattr(importlib.import_module(f"kds.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines under their headings."""
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


def _epilog(examples: tuple[str, ...], closing: str) -> str:
    """Both as click leaves them: a paragraph below a ``\\b`` keeps its lines."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    shown = "\n".join(["\b", heading, *(f"  {example}" for example in examples)])
    return f"{shown}\n\n\b\n{closing}" if closing else shown


def _is_said(word: str, option: str) -> bool:
    return word.startswith(option) and len(word.split(maxsplit=1)) > 1
