"""`kds docs remove|check|embed`: taking documents out, and keeping the store in order."""

from pathlib import Path
from typing import Final

import click

from kds.api.embeddings import embed_waiting
from kds.brain.database.health import Check
from kds.brain.documents.document_values import Holdings
from kds.cli.answering import harmless
from kds.cli.docs_options import (
    chosen_embedder,
    counted,
    document_dict,
    embeddings_option,
    looking,
    opened,
    shown_path,
)
from kds.cli.guard import TESTS_FAILED, Refusal
from kds.cli.options import find_workspace, json_option, workspace_option
from kds.cli.output import print_json
from kds.cli.progress import reported
from kds.documents.place import documents_path

EMPTY: Final = Holdings(0, 0, 0, 0, 0, 0)


@click.command(
    epilog="""\b
Examples:
  kds docs remove handbook.md
  kds docs remove 3f2a9c1b77d0 agreement.pdf"""
)
@click.argument("names", metavar="DOC...", nargs=-1, required=True)
@json_option
@workspace_option
def remove(*, names: tuple[str, ...], as_json: bool, workspace: Path | None) -> None:
    """Remove documents from the store, down to their bytes; their files stay."""
    with opened(workspace) as store:
        found = store.remove(names)
    if as_json:
        print_json({"removed": [document_dict(one) for one in found]})
        return
    for one in found:
        click.echo(f"removed '{harmless(one.title)}' ({shown_path(one.path)})")


@click.command(epilog="\b\nExamples:\n  kds docs check\n  kds docs check --rebuild")
@click.option("--rebuild", is_flag=True, help="First make the search index anew.")
@json_option
@workspace_option
@click.pass_context
def check(ctx: click.Context, *, rebuild: bool, as_json: bool, workspace: Path | None) -> None:
    """Examine the whole store; exit code 1 when something is wrong."""
    path = documents_path(find_workspace(workspace))
    with looking(workspace) as store:
        found = Check() if store is None else store.rebuild() if rebuild else store.check()
        holds = store.holdings() if store else EMPTY
        gone = [one for one in store.documents() if not Path(one.path).exists()] if store else []
    if as_json:
        print_json(
            {"sound": found.sound, "problems": list(found.problems), "path": str(path),
             "documents": holds.documents, "sections": holds.sections, "chunks": holds.chunks,
             "tokens": holds.tokens, "size_bytes": holds.size_bytes,
             "gone": [one.path for one in gone]}
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
    ctx.exit(0 if found.sound else TESTS_FAILED)


@click.command(
    epilog="""\b
Examples:
  kds docs embed --embeddings langchain_ollama:OllamaEmbeddings
  kds docs embed --off"""
)
@embeddings_option
@click.option("--off", is_flag=True, help="Want no vectors any more; those there are stay.")
@json_option
@workspace_option
def embed(*, embeddings: str | None, off: bool, as_json: bool, workspace: Path | None) -> None:
    """Give every passage that has none its vector, for search by meaning.

    It goes on where it stopped, after an outage or Ctrl-C.
    """
    if off and embeddings:
        raise Refusal("--off and --embeddings exclude each other", "give one of them")
    with opened(workspace) as store:
        done = 0
        if off:
            store.use_model(None)
        else:
            embedder = chosen_embedder(embeddings, workspace)
            if embedder is None:
                raise Refusal(
                    "no embedding model is configured", "name one: --embeddings MODULE:CLASS"
                )
            store.use_model(embedder.name)
            store.retry_embeddings()
            with reported("embedding") as tell:
                done = embed_waiting(store, embedder, tell=tell)
        models = store.models()
    if as_json:
        print_json(
            {"embedded": done,
             "models": [{"name": one.name, "dimensions": one.dimensions, "state": one.state,
                         "vectors": one.vectors, "waiting": one.waiting, "failed": one.failed}
                        for one in models]}
        )  # fmt: skip
        return
    click.echo(f"{done:,} vectors made" if done else "there was nothing to do")
