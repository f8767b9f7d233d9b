"""`kds docs`: the documents of a workspace."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from kds.api.embeddings import EmbeddingsError, embed_waiting
from kds.api.measures import rounded
from kds.brain.documents.values import ALL, Document
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.command import asked_json
from kds.cli.guard import BAD_INPUT, TESTS_FAILED, Refusal, complain, complain_about, pass_on
from kds.cli.output import Shown, Table, counted, fields, hit_lines, say
from kds.cli.terminal import slow
from kds.documents.indexing import Report, State, add_documents
from kds.service.service_client import team_of
from kds.service.team_stores import TeamDocuments, at_team, documents_of

NOTHING: Final = "no documents have been added"

_COUNTED: Final[tuple[State, ...]] = ("added", "replaced", "unchanged", "failed")
_PASSAGE: Final = "document title path section number page first_line last_line kind terms tokens"


@base.group("kds docs search 'What is the Determination Date?'", closing="More: kds help documents")
def docs() -> None:
    """Add, search, show and remove the documents of the workspace."""


@base.command(
    "kds docs add handbook.md contracts/",
    closing="Exit code 0: all is read; 1: some files could not be read; 2: none could.",
    of=docs,
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=base.PATH)
def add(*, paths: tuple[Path, ...], workspace: Workspace) -> int:
    """Read files, and all below folders: Markdown, text, HTML, PDF and DOCX.

    Unchanged files are skipped. `kds memory check` lists documents whose files are gone, and `kds
    docs remove` removes them. The vectors for search by meaning are made too, unless
    `recall.embeddings` is off.
    """
    team = team_of(workspace)
    embedder = None if team else base.search_embedder(workspace)
    with base.changing(documents_of(workspace)) as store:
        with slow("reading documents") as tell:
            if (shared := at_team(store, TeamDocuments)) is not None:
                report = shared.add(workspace.root.resolve(), paths, tell)
            else:
                report = add_documents(store, paths, tell=tell)
        for one in report.outcomes:
            path = _shown_path(one.path)
            if one.error is not None:
                complain_about(KdsError(one.error.message, where=path, hint=one.error.hint))
            pass_on(f"{path}: {note}" for note in one.notes)
        if not report.outcomes:
            hint = "give .md, .txt, .html, .pdf or .docx"
            complain("there is no document in these folders", hint)
        counts = {state: len(report.of(state)) for state in _COUNTED}
        files = [
            fields(one, "path state document notes")
            | {"error": one.error and fields(one.error, "message hint")}
            for one in report.outcomes
        ]
        say({"counts": counts, "files": files}, _added_lines(report))
        if embedder is not None:
            try:
                with slow("embedding") as tell:
                    embed_waiting(store, embedder, tell=tell)
            except EmbeddingsError as error:  # words are searched without vectors
                later = "the documents are added; later: kds memory check --backfill"
                complain(error.message, later)
    if not counts["failed"]:
        return 0 if report.outcomes else BAD_INPUT
    return TESTS_FAILED if counts["failed"] < len(report.outcomes) else BAD_INPUT


def _added_lines(report: Report) -> Iterator[Shown]:
    for one in report.outcomes:
        if one.state in ("added", "replaced") and one.document is not None:
            title, size = one.document.title, _size(one.document)
            yield f"{one.state:<9} {_shown_path(one.path)}  '{title}', {size}"
    counts = (f"{len(report.of(state))} {state}" for state in _COUNTED if report.of(state))
    yield ", ".join(counts) or None


@base.command("kds docs show", of=docs)
def show(*, workspace: Workspace) -> None:
    """List the documents, each with its id, title, size and file."""
    with base.looking(documents_of(workspace)) as store:
        found = store.documents() if store else ()
    columns = ("id", "title", "kind", "pages", "sections", "passages", "file")
    rows = [(*fields(one, "id title kind pages sections chunks").values(), _shown_path(one.path))
            for one in found]  # fmt: skip
    say({"documents": found}, Table(columns, rows, NOTHING))


@base.command("kds docs search 'notice period' --only handbook.md --why", of=docs)
@base.question_argument("QUERY")
@base.option("--only DOC", "Look at this document only.", to="scope", default=ALL)
@base.option("--limit N", "Most passages.", default=5, type=click.IntRange(1, 100))
@base.flag("--why", "Also say why each passage was found.")
def search(*, query: str, scope: str, limit: int, why: bool, workspace: Workspace) -> None:
    """Find the passages that answer QUERY, with document, section and page.

    A question for a defined term finds its definition first; a section is found by its number.
    """
    with base.looking(documents_of(workspace)) as store:
        if store is None:
            say({"query": query, "hits": [], "notes": [NOTHING]}, NOTHING)
            return
        with slow("searching the documents"):
            embedder = None if team_of(workspace) else base.search_embedder(workspace)
            found = store.search(query, limit=limit, scope=scope, embedder=embedder)
    pass_on(() if asked_json() else found.notes)
    hits: list[dict[str, Any]] = [
        {"citation": hit.citation, "text": hit.passage.text, "score": round(hit.score, 4),
         "scores": rounded(hit.parts), "bias": hit.bias, **fields(hit.passage, _PASSAGE),
         "why": hit.why}
        for hit in found.hits
    ]  # fmt: skip
    lines = [
        hit_lines(f"{number}. {hit['score']:.2f}  {hit['citation']}", hit["text"],
                  [("why", reason) for reason in hit["why"]] if why else ())
        for number, hit in enumerate(hits, start=1)
    ]  # fmt: skip
    report = fields(found, "query concepts notes") | {"hits": hits}
    say(report | {"timings_ms": rounded(found.timings_ms)}, lines or "nothing was found")


@base.command("kds docs remove handbook.md", of=docs)
@click.argument("names", metavar="DOC...", nargs=-1, required=True)
def remove(*, names: tuple[str, ...], workspace: Workspace) -> None:
    """Remove documents from the store and wipe their bytes; the files themselves stay."""
    with base.looking(documents_of(workspace)) as store, slow("wiping them from the store"):
        if store is None:
            raise Refusal(NOTHING, "add some: kds docs add PATH")
        found = store.remove(names)
    lines = [f"removed '{one.title}' ({_shown_path(one.path)})" for one in found]
    say({"removed": found}, lines)


def _size(document: Document) -> str:
    return f"{counted(document.sections, 'section')}, {counted(document.chunks, 'passage')}"


def _shown_path(path: str | Path) -> str:
    """A path relative to the current folder, if it is below."""
    whole, here = Path(path), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
