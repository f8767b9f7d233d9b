"""A group of subcommands, each of which is loaded when it is called."""

import importlib
from collections.abc import Mapping

import click

Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""Heading -> subcommand -> its ``module:name`` in `kds.cli`, and its line in `--help`."""


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
