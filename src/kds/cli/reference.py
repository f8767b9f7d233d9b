"""Writes docs/cli.md from the commands themselves: `python -m kds.cli.reference`.

What stands above the commands is `reference.md` beside this. A test holds the page equal to what
this prints, so the help is written once; `--man DIR` writes it as man pages.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from kds.cli.app import app
from kds.cli.manual import contexts, write_manual

WIDTH: Final = 88


def reference() -> str:
    """Return the page: every command with its help, in the order of `kds --help`.

    >>> "## kds context log" in reference()
    True
    """
    head = files(__package__).joinpath("reference.md").read_text(encoding="utf-8")
    return head + "".join(
        f"\n## {one.command_path}\n\n```text\n{one.get_help()}\n```\n"
        for one in contexts(app, terminal_width=WIDTH)
    )


@click.command()
@click.option("--man", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write man pages into this folder instead.")  # fmt: skip
def main(*, man: Path | None) -> None:
    """Print docs/cli.md."""
    if man is None:
        click.echo(reference(), nl=False)
    else:
        click.echo(f"{len(write_manual(app, man))} pages in {man}; man -l {man}/kds.1")


if __name__ == "__main__":
    main()
