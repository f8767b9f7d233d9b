"""Writes docs/cli.md from the commands themselves: `python -m kds.cli.reference`.

What stands above the commands is `reference.md` beside this. A test holds the page equal to what
this prints, so the help is written once; `--man DIR` writes it as man pages.
"""

import inspect
import os
import textwrap
import time
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click

from kds.cli.app import app

WIDTH: Final = 88

DATE: Final = "SOURCE_DATE_EPOCH"
"""The variable that dates a build that is to come out the same again."""

_FILLED: Final = 66
"""Columns of running text in the source; escapes make it longer."""

_DASH: Final = "\N{EN DASH}"

_RAW: Final = "\b"
"""What stands above a paragraph whose lines click leaves as they are."""


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


def write_manual(app: click.Command, folder: Path) -> list[Path]:
    """Write one page for each command and group into ``folder``, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for context in contexts(app):
        path = folder / f"{_name(context)}.1"
        path.write_text(page(context), encoding="utf-8")
        written.append(path)
    return written


def page(context: click.Context) -> str:
    """The man page of a command, in the macros of man(7)."""
    command, name = context.command, _name(context)
    usage = " ".join(command.collect_usage_pieces(context))
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get(DATE, time.time()))))
    parts = [
        f'.TH "{name.upper()}" "1" "{date}" "kds {version("kds-router")}" "KDS"',
        ".SH NAME",
        *_filled(f"{name} {_DASH} {command.get_short_help_str(200).rstrip('.')}"),
        ".SH SYNOPSIS",
        rf"\fB{_escaped(context.command_path)}\fR {_escaped(usage)}".rstrip(),
        ".SH DESCRIPTION",
        *_prose(command.help or ""),
        *_listed("OPTIONS", _options(context)),
        *_listed("COMMANDS", _commands(context)),
        *_closing(command.epilog or ""),
        ".SH SEE ALSO",
        *_see_also(context),
    ]
    return "\n".join(parts) + "\n"


def contexts(
    command: click.Command, word: str = "kds", parent: click.Context | None = None, **settings: Any
) -> Iterator[click.Context]:
    """Yield one for a command and each below it that is listed, in the order of `--help`."""
    context = click.Context(
        command, info_name=word, parent=parent, help_option_names=["-h", "--help"], **settings
    )
    yield context
    for name, child in _children(context):
        yield from contexts(child, name, context, **settings)


def _children(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield name, child


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    for param in context.command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and record[1]:  # what an argument is, the description says
            yield record


def _commands(context: click.Context) -> Iterator[tuple[str, str]]:
    for name, child in _children(context):
        yield f"{context.command_path} {name}", child.get_short_help_str(200)


def _listed(heading: str, rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    for number, (term, text) in enumerate(rows):
        if number == 0:
            yield f".SH {heading}"
        yield from (".TP", rf"\fB{_escaped(term)}\fR", *_filled(text))


def _prose(text: str) -> Iterator[str]:
    """Paragraphs, each filled, but for those whose lines are to stay as they are."""
    paragraphs = (one for one in inspect.cleandoc(text).split("\n\n") if one.strip())
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        lines = [line for line in paragraph.splitlines() if line.strip() != _RAW]
        if paragraph.lstrip(" \n").startswith(_RAW):
            yield from (".nf", *map(_escaped, lines), ".fi")
        else:
            yield from _filled(" ".join(lines))


def _filled(text: str) -> Iterator[str]:
    """Running text in lines that mandoc's lint does not call long."""
    lines = textwrap.wrap(" ".join(text.split()), _FILLED, break_on_hyphens=False)
    return map(_escaped, lines)


def _closing(epilog: str) -> Iterator[str]:
    if epilog.strip():
        yield ".SH EXAMPLES"
        yield from (".nf", *(_escaped(line) for line in _example_lines(epilog)), ".fi")


def _example_lines(epilog: str) -> Iterator[str]:
    """The lines below "Examples:", which is the heading already."""
    for line in inspect.cleandoc(epilog).splitlines():
        if line.strip() not in {"", _RAW, "Example:", "Examples:"}:
            yield line


def _see_also(context: click.Context) -> Iterator[str]:
    parent = [context.parent] if context.parent else []
    names = [_name(one) for one in parent] + [
        f"{_name(context)}-{name}" for name, _ in _children(context)
    ]
    for name, comma in zip(names, [*"," * (len(names) - 1), ""], strict=True):
        yield rf".BR {_escaped(name)} (1){comma}"


def _escaped(text: str) -> str:
    """``text`` that means nothing to roff: no escapes, no requests, hyphens as they are typed."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace(_DASH, r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


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
