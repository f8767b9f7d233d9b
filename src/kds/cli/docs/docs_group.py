"""`kds docs`: the documents of a workspace; taking some out, and keeping the store in order."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from kds.brain.database.health import Check
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.documents.document_values import Document, Holdings
from kds.brain.workspace import Workspace
from kds.cli.command import command, group
from kds.cli.docs.add import add
from kds.cli.docs.document_search import search
from kds.cli.docs.show import document_dict, list_, opened, show, shown_path
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import common_options
from kds.cli.output import counted, fields, mebibytes, say
from kds.cli.progress import slow
from kds.cli.stores import embeddings_option, looking, make_vectors, off_option
from kds.cli.terminal import harmless

EMPTY: Final = Holdings(0, 0, 0, 0, 0, 0)


@group(
    "kds docs add handbook.md contracts/",
    "kds docs search 'What is the Determination Date?'",
    "kds docs show handbook.md",
    closing="More: kds help documents",
)
def docs() -> None:
    """Add, search, show and remove the documents of the workspace."""


for _command in (add, list_, show, search):
    docs.add_command(_command)


@command("kds docs remove handbook.md", "kds docs remove 3f2a9c1b77d0 agreement.pdf", of=docs)
@click.argument("names", metavar="DOC...", nargs=-1, required=True)
@common_options
def remove(*, names: tuple[str, ...], workspace: Workspace) -> None:
    """Remove documents from the store, down to their bytes; their files stay."""
    with opened(workspace) as store, slow("wiping the documents from the store"):
        found = store.remove(names)
    lines = [f"removed '{harmless(one.title)}' ({shown_path(one.path)})" for one in found]
    say({"removed": [document_dict(one) for one in found]}, "\n".join(lines))


@command("kds docs check", "kds docs check --rebuild", of=docs)
@click.option("--rebuild", is_flag=True, help="First make the search index anew.")
@common_options
def check(*, rebuild: bool, workspace: Workspace) -> int:
    """Examine the whole store; exit code 1 when something is wrong."""
    place = DocumentPlace.of(workspace)
    with looking(place) as store, slow("examining the documents"):
        found = Check() if store is None else store.rebuild() if rebuild else store.check()
        holds = store.holdings() if store else EMPTY
        gone = [one for one in store.documents() if not Path(one.path).exists()] if store else []
    say(
        fields(found, "sound problems")
        | {"path": str(place)}
        | fields(holds, "documents sections chunks tokens size_bytes")
        | {"gone": [one.path for one in gone]},
        "\n".join(_findings(found, gone, holds)),
    )
    return 0 if found.sound else TESTS_FAILED


@command(
    "kds docs embed --embeddings langchain_ollama:OllamaEmbeddings", "kds docs embed --off", of=docs
)
@embeddings_option
@off_option
@common_options
def embed(*, embeddings: str | None, off: bool, workspace: Workspace) -> None:
    """Give every passage that has none its vector, for search by meaning.

    It goes on where it stopped, after an outage or Ctrl-C.
    """
    with opened(workspace) as store:
        make_vectors(store, embeddings, workspace, off=off)


def _findings(found: Check, gone: Iterable[Document], holds: Holdings) -> Iterable[str]:
    yield from found.problems
    for one in gone:
        yield f"the file of '{harmless(one.title)}' has gone: {shown_path(one.path)}"
    if found.sound:
        documents, passages = counted(holds.documents, "document"), counted(holds.chunks, "passage")
        yield f"all is in order: {documents}, {passages}, {mebibytes(holds.size_bytes)}"
