"""`kds docs remove|check|embed`: taking documents out, and keeping the store in order."""

from pathlib import Path
from typing import Final

import click

from kds.brain.database.health import Check
from kds.brain.documents.document_place import DocumentPlace
from kds.brain.documents.document_values import Holdings
from kds.cli.command import command
from kds.cli.docs.document_options import document_dict, looking, opened, shown_path
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import common_options, find_workspace
from kds.cli.output import counted, fields, print_json
from kds.cli.progress import slow
from kds.cli.stores import check_off, embeddings_option, make_vectors, model_dict, off_option
from kds.cli.talk.answering import harmless

EMPTY: Final = Holdings(0, 0, 0, 0, 0, 0)


@command("kds docs remove handbook.md", "kds docs remove 3f2a9c1b77d0 agreement.pdf")
@click.argument("names", metavar="DOC...", nargs=-1, required=True)
@common_options
def remove(*, names: tuple[str, ...], as_json: bool, workspace: Path | None) -> None:
    """Remove documents from the store, down to their bytes; their files stay."""
    with opened(workspace) as store, slow("wiping the documents from the store"):
        found = store.remove(names)
    if as_json:
        print_json({"removed": [document_dict(one) for one in found]})
        return
    for one in found:
        click.echo(f"removed '{harmless(one.title)}' ({shown_path(one.path)})")


@command("kds docs check", "kds docs check --rebuild")
@click.option("--rebuild", is_flag=True, help="First make the search index anew.")
@common_options
def check(*, rebuild: bool, as_json: bool, workspace: Path | None) -> int:
    """Examine the whole store; exit code 1 when something is wrong."""
    place = DocumentPlace.of(find_workspace(workspace))
    with looking(workspace) as store, slow("examining the documents"):
        found = Check() if store is None else store.rebuild() if rebuild else store.check()
        holds = store.holdings() if store else EMPTY
        gone = [one for one in store.documents() if not Path(one.path).exists()] if store else []
    if as_json:
        print_json(
            fields(found, "sound problems") | {"path": str(place)}
            | fields(holds, "documents sections chunks tokens size_bytes")
            | {"gone": [one.path for one in gone]}
        )  # fmt: skip
    else:
        for problem in found.problems:
            click.echo(problem)
        for one in gone:
            click.echo(f"the file of '{harmless(one.title)}' has gone: {shown_path(one.path)}")
        if found.sound:
            click.echo(
                f"all is in order: {counted(holds.documents, 'document')}, "
                f"{counted(holds.chunks, 'passage')}, {holds.size_bytes / 2**20:,.1f} MiB"
            )
    return 0 if found.sound else TESTS_FAILED


@command("kds docs embed --embeddings langchain_ollama:OllamaEmbeddings", "kds docs embed --off")
@embeddings_option
@off_option
@common_options
def embed(*, embeddings: str | None, off: bool, as_json: bool, workspace: Path | None) -> None:
    """Give every passage that has none its vector, for search by meaning.

    It goes on where it stopped, after an outage or Ctrl-C.
    """
    check_off(embeddings, off=off)
    with opened(workspace) as store:
        done = make_vectors(store, embeddings, workspace, off=off)
        models = store.models()
    if as_json:
        print_json({"embedded": done, "models": [model_dict(one) for one in models]})
        return
    click.echo(f"{done:,} vectors made" if done else "there was nothing to do")
