"""`kds docs list|show`: which documents there are, and how the others of `kds docs` show them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from kds.brain.documents.document_store import DocumentPlace
from kds.brain.documents.document_values import Document, Section
from kds.brain.documents.documents import Documents
from kds.brain.documents.heading import number_key
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal
from kds.cli.options import common_options
from kds.cli.output import counted, fields, print_line, print_table, say
from kds.cli.stores import looking
from kds.cli.terminal import harmless

NOTHING: Final = "no documents have been added"


@contextmanager
def opened(workspace: Workspace) -> Iterator[Documents]:
    """Open the documents of a workspace. Raises Refusal when none was ever added."""
    with looking(DocumentPlace.of(workspace)) as store:
        if store is None:
            raise Refusal(NOTHING, "add some: kds docs add PATH")
        yield store


def shown_path(path: str | Path) -> str:
    """Return a path as it is read most easily from here."""
    whole = Path(path)
    here = Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def document_dict(document: Document) -> dict[str, Any]:
    """The JSON form of a document."""
    names = "id title path kind added_at modified size digest sections chunks pages"
    return fields(document, names)


@command("kds docs list --json", name="list")
@common_options
def list_(*, workspace: Workspace) -> None:
    """List the documents of the workspace."""
    with looking(DocumentPlace.of(workspace)) as store:
        found = store.documents() if store else ()
    columns = ("id", "title", "kind", "pages", "sections", "passages", "file")
    rows = [
        (one.id, harmless(one.title), one.kind, "" if one.pages is None else f"{one.pages:,}",
         f"{one.sections:,}", f"{one.chunks:,}", shown_path(one.path))
        for one in found
    ]  # fmt: skip
    say(
        {"documents": [document_dict(one) for one in found]},
        lambda: print_table(columns, rows, none=NOTHING),
    )


@command("kds docs show agreement.pdf", "kds docs show agreement.pdf --section 4.02")
@click.argument("name", metavar="DOC")
@click.option("--section", "wanted", metavar="NUMBER|TITLE", help="Print the text of a section.")
@common_options
def show(*, name: str, wanted: str | None, workspace: Workspace) -> None:
    """Show the outline of DOC (id, path, file name or title), or the text of a section."""
    with opened(workspace) as store:
        document = store.document(name)
        sections = store.sections(document.id)
    if wanted is not None:
        chosen = _chosen(sections, wanted)
        if not chosen:
            raise Refusal(
                f"'{harmless(document.title)}' has no section '{wanted}'",
                f"see its outline: kds docs show {document.id}",
            )
        texts = [_section_dict(one) | {"text": one.text} for one in chosen]
        say(
            {"document": document.id, "title": document.title, "sections": texts},
            lambda: _print_text(chosen),
        )
    else:
        outline = [_section_dict(one) for one in sections]
        say(
            document_dict(document) | {"outline": outline},
            lambda: _print_outline(document, sections),
        )


def _chosen(sections: Sequence[Section], wanted: str) -> list[Section]:
    """Return the section with a number or a title, and all inside it."""
    asked = " ".join(wanted.split()).casefold()
    tests = (
        lambda one: one.number.casefold() == asked,
        lambda one: bool(one.number) and number_key(one.number) == number_key(wanted),
        lambda one: asked in (one.title.casefold(), _heading(one)),
        lambda one: asked in _heading(one),
    )
    for test in tests:
        if found := next((one for one in sections if test(one)), None):
            depth = len(found.path)
            return [found] + [
                one for one in sections[found.index + 1 :]
                if len(one.path) > depth and one.path[:depth] == found.path
            ]  # fmt: skip
    return []


def _heading(one: Section) -> str:
    return one.path[-1].casefold() if one.path else ""


def _print_outline(document: Document, sections: Sequence[Section]) -> None:
    click.echo(harmless(document.title))
    pages = f", {counted(document.pages, 'page')}" if document.pages is not None else ""
    print_line("file", shown_path(document.path))
    holds = f"{counted(document.sections, 'section')}, {counted(document.chunks, 'passage')}"
    print_line("holds", holds + pages)
    print_line("id", document.id)
    click.echo()
    for one in sections:
        heading = one.path[-1] if one.path else "(before the first heading)"
        if not one.path and not one.chunks:
            continue
        where = f"  p. {one.page}" if one.page is not None else ""
        click.echo(harmless(f"{'  ' * (one.level - 1)}{heading}{where}"))


def _print_text(chosen: Sequence[Section]) -> None:
    for at, one in enumerate(chosen):
        if at:
            click.echo()
        if one.path:
            page = f"  (p. {one.page})" if one.page is not None else ""
            click.echo(harmless(one.path[-1] + page))
        if one.text:
            click.echo(harmless(f"\n{one.text}"))


def _section_dict(one: Section) -> dict[str, Any]:
    return fields(one, "index number title path level page first_line last_line chunks")
