"""The order of what was found: meaning fused in, the document asked about lifted, both sides of a
comparison among the first; and the reasons, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kds.brain.documents.document_values import Document, DocumentHit, Passage
from kds.brain.documents.judging import Candidate, Judge, Judged
from kds.brain.documents.question import Asked, side_of
from kds.brain.passages.dense import DenseHits
from kds.brain.passages.fusion import Weights, fuse
from kds.brain.passages.query import LONG_QUERY
from kds.brain.passages.values import Scored
from kds.brain.words.phrases import WORD

LIMIT: Final = 5

NEAREST: Final = 30
"""Passages by meaning; those that words did not find are looked at too."""

DOCUMENT_BIAS: Final = 1.15
"""What a passage of the document asked about counts more (issue 6). Never a filter."""

WEIGHTS: Final = Weights(alpha=0.25, beta=0.75, gamma=0.0)
"""Of meaning and of everything else."""

SHORTEST_TITLE: Final = 6
"""Characters of a title that a question may name: shorter ones are words like others."""

FIRST: Final = 3
"""The places among which a comparison wants each of the things compared."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and where to look for its answer."""

    query: str
    limit: int = LIMIT
    document: Document | None = None
    """Its passages are lifted by ``bias``."""
    within: Document | None = None
    """Only its passages are looked at."""
    bias: float = DOCUMENT_BIAS
    titles: Mapping[str, str] = field(default_factory=dict)
    """Title -> id of the documents, to see whether the question names one."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage in the order; ``meaning`` is None where there is no vector."""

    chunk_id: int
    score: float
    bias: float
    meaning: float | None


def rank(
    request: Request,
    places: Mapping[int, Candidate],
    judged: Mapping[int, Judged],
    dense: DenseHits,
) -> list["Ranked"]:
    """Fuse what was judged with what is near, and lift the document asked about."""
    fused = fuse(
        {one: found.score for one, found in judged.items()},
        {},
        {hit.chunk_id: hit.score for hit in dense.hits if hit.chunk_id in places},
        weights=WEIGHTS,
        dense_floor=dense.floor,
    )
    favoured = request.document.id if request.document else _named(request)
    found = []
    for one, score in fused.items():
        bias = request.bias if places[one].document == favoured else 1.0
        found.append(Ranked(one, score.score * bias, bias, score.dense))
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _named(request: Request) -> str | None:
    """Return the document whose title the question has, the longest one if several."""
    asked = f" {' '.join(WORD.findall(request.query[:LONG_QUERY].casefold()))} "
    titles = (title for title in request.titles if len(title) >= SHORTEST_TITLE)
    found = [title for title in titles if f" {' '.join(WORD.findall(title.casefold()))} " in asked]
    return request.titles[max(found, key=len)] if found else None


def diversified(
    asked: Asked, judge: Judge, ranked: list["Ranked"], places: Mapping[int, Candidate]
) -> list["Ranked"]:
    """For a comparison see that the best of each of the things compared is among the first.

    Each side is judged as a question of its own. What comes forward takes the score of what it
    comes behind; the order of all others stays.
    """
    kept = _best_of_sides(asked, judge, {one.chunk_id: one for one in ranked}, places)
    first = _with(ranked[:FIRST], kept)
    ids = {one.chunk_id for one in first}
    return [*first, *(one for one in ranked if one.chunk_id not in ids)]


def _best_of_sides(
    asked: Asked, judge: Judge, ranked: Mapping[int, "Ranked"], places: Mapping[int, Candidate]
) -> list["Ranked"]:
    kept: list[Ranked] = []
    for number in range(len(asked.sides)):
        side = replace(judge, asked=side_of(asked, number), referred={})
        found = side.judge(places.values())
        best = max(found, key=lambda one: (found[one].score * ranked[one].bias, -one), default=None)
        if best is not None and ranked[best] not in kept:
            kept.append(ranked[best])
    return kept


def _with(first: list["Ranked"], kept: list["Ranked"]) -> list["Ranked"]:
    """Put what must be kept among the first, in the place of the last that need not be."""
    missing = [one for one in kept if one not in first]
    free = [one for one in first if one not in kept]
    dropped = free[max(len(free) - len(missing), 0) :]
    first = [one for one in first if one not in dropped]
    for one in missing:
        score = first[-1].score if first else one.score
        first.append(replace(one, score=max(score, one.score)))
    return first


def explained(
    passages: Mapping[int, Passage],
    ranked: Sequence["Ranked"],
    judged: Mapping[int, Judged],
    dense: Sequence[Scored],
) -> tuple[DocumentHit, ...]:
    """Return passages as hits, with their parts and the reasons."""
    cosines = {hit.chunk_id: hit.score for hit in dense}
    best = max((found.score for found in judged.values()), default=0.0) or 1.0
    hits = []
    for one in ranked:
        if one.chunk_id not in passages:  # removed meanwhile
            continue
        found = judged.get(one.chunk_id)
        parts = {
            "words": found.words / best if found else 0.0,
            "definition": found.definition / best if found else 0.0,
            "reference": found.reference / best if found else 0.0,
        }
        if one.meaning is not None:
            parts["meaning"] = one.meaning
        why = tuple(_why(found, cosines.get(one.chunk_id), one.bias))
        hits.append(DocumentHit(passages[one.chunk_id], one.score, parts, one.bias, why))
    return tuple(hits)


def _why(found: Judged | None, cosine: float | None, bias: float) -> Iterator[str]:
    if found is not None:
        for term in found.defines:
            yield f"defines '{term}'"
        for name in found.refers:
            yield f"is in {name}"
        if found.has:
            yield "has " + ", ".join(f"'{word}'" for word in found.has)
        if found.near:
            yield "beside it stands " + ", ".join(f"'{word}'" for word in found.near)
    if cosine is not None:
        yield f"meaning: cosine {cosine:.2f}"
    if bias != 1.0:
        yield f"x{bias:g}: of the document asked about"
