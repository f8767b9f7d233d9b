"""`kds help`: the `--help` of a command, and the pages of the documentation, offline."""

import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

import kds.pages
from kds.cli.command import command
from kds.cli.guard import Refusal

TOPICS: Final = "topics"
"""Lists the pages, in the place of one."""

INDEX: Final = "index"
"""The page that lists the others, in groups and with a line for each."""

_WIDTH: Final = 100
_GROUP: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGE: Final = re.compile(r"^- \[[^\]]+\]\(([\w-]+)\.md\): (.+)$", re.MULTILINE)


@command(
    "kds help context load",
    "kds help topics",
    "kds help references",
    "kds help docs/memory.md",
    name="help",
)
@click.argument("words", nargs=-1, metavar="[COMMAND|TOPIC]")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command as its --help does, or print a page of the documentation.

    The pages come with KDS and need no network; on a terminal they open in your pager.
    Without a word it lists all commands and pages.
    """
    root = ctx.find_root()
    pages = {path.stem: path for path in sorted(Path(kds.pages.__file__).parent.glob("*.md"))}
    said = " ".join(words)
    name = said.removeprefix("docs/").removesuffix(".md")
    explained = _command(root, words) if words else None
    if words == (TOPICS,):
        click.echo(_listed(pages))
    elif not words:
        click.echo(f"{root.get_help()}\n\nPages, each by `kds help PAGE`:\n\n{_listed(pages)}")
    elif explained is not None:
        more = f"\n\nMore: kds help docs/{name}.md" if name in pages else ""
        click.echo(explained + more)
    elif name not in pages:
        raise _unknown(root, words, pages)
    elif sys.stdout.isatty():
        click.echo_via_pager(pages[name].read_text(encoding="utf-8"))
    else:
        click.echo(pages[name].read_text(encoding="utf-8"), nl=False)


def _listed(pages: Mapping[str, Path]) -> str:
    """The pages in groups, as docs/index.md has them."""
    _, *groups = _GROUP.split(pages[INDEX].read_text(encoding="utf-8"))
    formatter = click.HelpFormatter(width=_WIDTH)
    for heading, lines in zip(groups[::2], groups[1::2], strict=True):
        if listed := _PAGE.findall(lines):
            with formatter.section(heading):
                formatter.write_dl(listed)
    return formatter.getvalue().strip("\n")


def _command(root: click.Context, words: Sequence[str]) -> str | None:
    """The `--help` of the command that ``words`` name; None when they name none."""
    context = root
    for word in words:
        group = context.command
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            return None
        context = click.Context(found, info_name=word, parent=context)
    return context.get_help()


def _unknown(root: click.Context, words: Sequence[str], pages: Mapping[str, Path]) -> Refusal:
    said = " ".join(words)
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    near = difflib.get_close_matches(said, [*commands, *pages], n=1)
    if not near and _command(root, words[:1]) is not None:
        near = [words[0]]
    hint = f"did you mean: kds help {near[0]}" if near else "kds help topics lists the pages"
    return Refusal(f"no command or page '{said}'", hint)
