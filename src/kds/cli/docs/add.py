"""`kds docs add`: files and folders become documents that can be searched."""

from pathlib import Path
from typing import Any, Final

import click

from kds.api.embeddings import EmbeddingsError, embed_waiting
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.documents.documents import Documents
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.docs.show import document_dict, shown_path
from kds.cli.guard import BAD_INPUT, TESTS_FAILED, complain, complain_about
from kds.cli.options import NamedPath, common_options
from kds.cli.output import counted, print_json
from kds.cli.progress import reported
from kds.cli.stores import changing, chosen_embedder, embeddings_option
from kds.cli.terminal import harmless
from kds.documents.folder import Choice
from kds.documents.indexing import Outcome, Report, State, add_documents

_TOLD: Final[tuple[State, ...]] = ("added", "replaced", "removed", "gone")
_COUNTED: Final[tuple[State, ...]] = ("added", "replaced", "unchanged", "removed", "gone", "failed")


@command(
    "kds docs add handbook.md agreement.pdf",
    "kds docs add contracts/ --glob '*.docx' --exclude drafts",
    "kds docs add contracts/ --prune",
    closing="Exit code 0: all is read; 1: some files could not be read, the others are; "
    "2: none could.",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True,
                type=NamedPath())  # fmt: skip
@click.option("--glob", "globs", metavar="PATTERN", multiple=True,
              help="Of folders take only files like this; may be given several times.")  # fmt: skip
@click.option("--exclude", "excludes", metavar="PATTERN", multiple=True,
              help="Of folders leave out files and folders like this.")  # fmt: skip
@click.option("--prune", is_flag=True, help="Remove documents whose files have gone.")
@embeddings_option
@common_options
def add(
    *, paths: tuple[Path, ...], globs: tuple[str, ...], excludes: tuple[str, ...], prune: bool,
    embeddings: str | None, workspace: Workspace,
) -> int:  # fmt: skip
    """Read files, and all below folders: Markdown, text, HTML, PDF and DOCX.

    What has not changed since it was read is passed over. With an embedding model in the
    settings, the vectors for search by meaning are made too.
    """
    embedder = chosen_embedder(embeddings, workspace)
    with changing(DocumentPlace.of(workspace)) as store:
        with reported("reading documents") as tell:
            report = add_documents(
                store, paths, choice=Choice(globs, excludes), prune=prune, tell=tell
            )
        _show(report)
        if embedder is not None:
            _embed(store, embedder)
    return _exit_code(report)


def _embed(store: Documents, embedder: Any) -> None:
    """Make the vectors. A model that fails takes nothing back: words are searched without it."""
    try:
        with reported("embedding") as tell:
            embed_waiting(store, embedder, tell=tell)
    except EmbeddingsError as error:
        complain(error.message, "the documents are added; later: kds docs embed")


def _exit_code(report: Report) -> int:
    if not report.of("failed"):
        return 0 if report.outcomes else BAD_INPUT
    read = any(report.of(state) for state in ("added", "replaced", "unchanged"))
    return TESTS_FAILED if read else BAD_INPUT


def _show(report: Report) -> None:
    for one in report.of("failed"):
        if one.error is not None:
            complain_about(
                KdsError(one.error.message, where=shown_path(one.path), hint=one.error.hint)
            )
    for one in report.outcomes:
        for note in one.notes:
            complain(f"{shown_path(one.path)}: {note}")
    if asked_json():
        print_json(_report_dict(report))
        return
    for one in report.outcomes:
        if one.state in _TOLD and one.document is not None:
            said = one.document
            click.echo(
                f"{one.state:<9} {shown_path(one.path)}  '{harmless(said.title)}', "
                f"{counted(said.sections, 'section')}, {counted(said.chunks, 'passage')}"
            )
    if not report.outcomes:
        complain("there is no document in these folders", "give .md, .txt, .html, .pdf or .docx")
        return
    counts = (f"{len(report.of(state))} {state}" for state in _COUNTED if report.of(state))
    click.echo(", ".join(counts))
    if report.of("gone"):
        click.echo("  documents whose files have gone stay until you add with --prune")


def _report_dict(report: Report) -> dict[str, Any]:
    return {
        "counts": {state: len(report.of(state)) for state in _COUNTED},
        "files": [_outcome_dict(one) for one in report.outcomes],
    }


def _outcome_dict(one: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"path": str(one.path), "state": one.state}
    if one.document is not None:
        told["document"] = document_dict(one.document)
    if one.error is not None:
        told["error"] = {"message": one.error.message, "hint": one.error.hint}
    if one.notes:
        told["notes"] = list(one.notes)
    return told
