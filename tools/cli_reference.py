"""Prints docs/cli.md from the commands themselves: `make docs`.

The head of the page is cli_reference.md beside this. A test keeps the page current.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from kds.cli.main import app

HEAD: Final = Path(__file__).with_suffix(".md")
WIDTH: Final = 88


def contexts(
    command: click.Command, word: str = "kds", parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield one for a command and each listed one below it, in the order of `--help`."""
    names = {"help_option_names": ["-h", "--help"]}
    context = click.Context(command, info_name=word, parent=parent, terminal_width=WIDTH, **names)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from contexts(child, name, context)


def reference() -> str:
    """The page: every command with its help."""
    parts = [
        f"\n## {one.command_path}\n\n```text\n{one.get_help()}\n```\n" for one in contexts(app)
    ]
    return HEAD.read_text(encoding="utf-8") + "".join(parts)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
