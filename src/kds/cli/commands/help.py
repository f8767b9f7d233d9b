"""`kds help`: the `--help` of a command, and the pages of the documentation, offline."""

import sys
from pathlib import Path

import click

import kds.pages
from kds.cli import base
from kds.cli.guard import Refusal


@base.command("kds help context load", "kds help docs/memory.md", name="help", common=())
@click.argument("words", nargs=-1, metavar="[COMMAND|TOPIC]")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command as its --help does, or print a page of the documentation.

    The pages come with KDS and need no network; on a terminal they open in your pager.
    `kds help topics` lists them.
    """
    said = " ".join(words)
    pages = {path.stem: path for path in Path(kds.pages.__file__).parent.glob("*.md")}
    name = said.removeprefix("docs/").removesuffix(".md").replace("topics", "index")
    found: click.Context | None = ctx.find_root()
    for word in words:
        group = found and found.command
        child = group.get_command(ctx, word) if isinstance(group, click.Group) else None
        found = click.Context(child, info_name=word, parent=found) if child else None
    if found is not None:
        more = f"\n\nMore: kds help docs/{name}.md" if name in pages else ""
        click.echo(found.get_help() + more)
    elif name in pages:
        text = pages[name].read_text(encoding="utf-8")
        if sys.stdout.isatty():
            click.echo_via_pager(text)
        else:
            click.echo(text, nl=False)
    else:
        hint = "kds --help lists the commands, kds help topics the pages"
        raise Refusal(f"no command or page '{said}'", hint)
