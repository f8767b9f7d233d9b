"""`kds help`: the `--help` of a command, and the pages of the documentation, offline."""

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

import kds.pages
from kds.cli.command import command
from kds.cli.guard import Refusal


@command("kds help context load", "kds help docs/memory.md", name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND|TOPIC]")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command as its --help does, or print a page of the documentation.

    The pages come with KDS and need no network; on a terminal they open in your pager.
    `kds help topics` lists them.
    """
    root, said = ctx.find_root(), " ".join(words)
    pages = {path.stem: path for path in Path(kds.pages.__file__).parent.glob("*.md")}
    name = said.removeprefix("docs/").removesuffix(".md").replace("topics", "index")
    if (explained := _command(root, words)) is not None:
        click.echo(explained + (f"\n\nMore: kds help docs/{name}.md" if name in pages else ""))
    elif name not in pages:
        commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else ()
        near = difflib.get_close_matches(said, [*commands, *pages], n=1)
        hint = f"did you mean: kds help {near[0]}" if near else "kds help topics lists the pages"
        raise Refusal(f"no command or page '{said}'", hint)
    elif sys.stdout.isatty():
        click.echo_via_pager(pages[name].read_text(encoding="utf-8"))
    else:
        click.echo(pages[name].read_text(encoding="utf-8"), nl=False)


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
