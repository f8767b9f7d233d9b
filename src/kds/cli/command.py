"""What the whole command line shares with click: help with examples, messages with dashes."""

from typing import Final

import click

JSON: Final = "kds.json"
"""Key of a command's context: whether `--json` was given."""


def asked_json() -> bool:
    """Whether `--json` was given."""
    return bool(click.get_current_context().meta.get(JSON))


def with_examples(examples: tuple[str, ...], closing: str = "") -> str:
    """What stands below a command's help: examples, and the lines of ``closing``."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    # a paragraph below click's \b keeps its lines
    shown = "\n".join(["\b", heading, *(f"  {example}" for example in examples)])
    return f"{shown}\n\n\b\n{closing}" if closing else shown


class MessageCommand(click.Command):
    """A command that reads an unknown option with a space in it as words of the message.

    Pasted lists, diffs and test results begin with a dash.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; a space in front keeps click from taking words for an option."""
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            name = error.option_name
            read = [f" {one}" if one.startswith(name) and one.split()[1:] else one for one in args]
            if read == args:
                raise
        return self.parse_args(ctx, read)
