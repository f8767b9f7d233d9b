"""Why a hit was found: a few lines for people, made of what the searches measured."""

from collections.abc import Iterator

from kds.brain.passages.fusion import Fused
from kds.brain.passages.rerank import Reranked


def explain(
    fused: Fused, found: Reranked | None, *, cosine: float | None, bias: float
) -> tuple[str, ...]:
    """Return the reasons of one hit, the strongest kind of evidence first.

    >>> explain(Fused(0.9, None, 1.0, 0.0), Reranked(7.2, ("port",), ("staging",), ()),
    ...     cosine=None, bias=1.0)
    ("words 1.00: has 'port'; beside it stands 'staging'",)
    """
    return tuple(_lines(fused, found, cosine, bias))


def _lines(
    fused: Fused, found: Reranked | None, cosine: float | None, bias: float
) -> Iterator[str]:
    if fused.code > 0.0:
        yield f"identifiers {fused.code:.2f}: holds a name of the question"
    if found is not None and fused.lexical > 0.0:
        yield f"words {fused.lexical:.2f}: {'; '.join(_words(found)) or 'near what was asked'}"
        yield from found.notes
    if cosine is not None:
        yield f"meaning {fused.dense or 0.0:.2f}: cosine {cosine:.2f}"
    if bias != 1.0:
        yield f"x{bias:g}: of the same document"


def _words(found: Reranked) -> Iterator[str]:
    if found.words:
        yield "has " + ", ".join(f"'{word}'" for word in found.words)
    if found.near:
        yield "beside it stands " + ", ".join(f"'{word}'" for word in found.near)
