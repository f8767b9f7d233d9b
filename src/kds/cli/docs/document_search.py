"""`kds docs search`: what the documents say about a question, with citations."""

from typing import Any, Final

import click

from kds.brain.documents.document_store import DocumentPlace
from kds.brain.documents.document_values import ALL, DocumentHit, DocumentRecall
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.docs.show import NOTHING
from kds.cli.guard import Refusal, complain
from kds.cli.options import common_options
from kds.cli.output import fields, print_line, say
from kds.cli.progress import slow
from kds.cli.stores import embeddings_option, looking, search_embedder
from kds.cli.terminal import harmless

_PASSAGE: Final = "document title path section number page first_line last_line kind terms tokens"


@command(
    "kds docs search 'What is the Determination Date?'",
    "kds docs search 'Section 4.02' --doc agreement.pdf",
    "kds docs search 'notice period' --only handbook.md --why",
)
@click.argument("words", metavar="QUERY", nargs=-1, required=True)
@click.option("--doc", "document", metavar="DOC", help="Prefer this document (x1.15).")
@click.option("--only", "scope", metavar="DOC", default=ALL,
              help="Look at this document only.  [default: all]")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1, max=100), metavar="N", default=5,
              help="Most passages.  [default: 5]")  # fmt: skip
@click.option("--why", is_flag=True, help="Also say why each passage was found.")
@embeddings_option
@common_options
def search(
    *, words: tuple[str, ...], document: str | None, scope: str, limit: int, why: bool,
    embeddings: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Find the passages that answer QUERY, with document, section and page.

    A question for a defined term finds its definition first; a section is found by its number.
    """
    query = " ".join(words).strip()
    if not query:
        raise Refusal("the question is empty", "say what to look for: kds docs search WORDS")
    embedder = search_embedder(embeddings, workspace)
    with looking(DocumentPlace.of(workspace)) as store:
        if store is None:
            say({"query": query, "hits": [], "notes": [NOTHING]}, NOTHING)
            return
        with slow("searching the documents"):
            found = store.search(
                query, limit=limit, document=document, scope=scope, embedder=embedder
            )
    say(recall_dict(found), lambda: _print(found, why=why))


def recall_dict(found: DocumentRecall) -> dict[str, Any]:
    """The JSON form of a search of documents."""
    return {
        "query": found.query,
        "hits": [hit_dict(hit) for hit in found.hits],
        "concepts": list(found.concepts),
        "notes": list(found.notes),
        "timings_ms": {stage: round(ms, 3) for stage, ms in found.timings_ms.items()},
    }


def hit_dict(hit: DocumentHit) -> dict[str, Any]:
    """The JSON form of a hit."""
    passage = hit.passage
    return {
        "citation": hit.citation,
        "text": passage.text,
        "score": round(hit.score, 4),
        "scores": {name: round(value, 4) for name, value in hit.parts.items()},
        "bias": hit.bias,
        **fields(passage, _PASSAGE),
        "why": list(hit.why),
    }


def _print(found: DocumentRecall, *, why: bool) -> None:
    for note in found.notes:
        complain(harmless(note))
    for number, hit in enumerate(found.hits, start=1):
        click.echo(harmless(f"{number}. {hit.score:.2f}  {hit.citation}"))
        for line in hit.passage.text.strip().splitlines():
            click.echo(harmless(f"   {line}"))
        if why:
            for reason in hit.why:
                print_line("   why", harmless(reason))
        click.echo()
    if not found.hits:
        click.echo("nothing was found")
