"""How a question is read, rewritten and searched for, step by step: for whoever tunes it."""

from dataclasses import asdict

from kds.brain.clock import utc_now
from kds.brain.documents.document_values import DocumentHit
from kds.brain.passages.query import Question as ReadQuestion
from kds.brain.passages.query import read_question
from kds.brain.passages.recalled import RecallSettings
from kds.query.service import QueryService
from kds.query.understood import rewriting_of
from kds.query.values import Query
from kds.service import memory_schemas as schemas
from kds.service.schemas import ReferenceReply


def look(service: QueryService, query: Query) -> schemas.RetrievalReply:
    """Understand and search as `POST /query` does, and tell everything. Nothing is stored."""
    found = service.search(service.understand(query, remembers=False))  # and asks no model
    turn, findings = found.turn, found.findings
    recall, documents = findings.conversations, findings.documents
    question = recall.question if recall else read_question(turn.expanded, now=utc_now())
    timings = dict(found.timings_ms)
    for name, stages in (
        ("memory", recall.timings_ms if recall else {}),
        ("documents", documents.timings_ms if documents else {}),
    ):
        timings |= {f"{name}.{stage}": ms for stage, ms in stages.items()}
    return schemas.RetrievalReply(
        query=found.query.text,
        rewritten_query=turn.expanded,
        rewritten_by=rewriting_of(turn).by,
        references=[ReferenceReply(**asdict(one)) for one in turn.references],
        why=list(turn.why),
        session_memory=list(reversed(found.known.terms)) if found.known else [],
        question=_read(question, documents.concepts if documents else ()),
        documents=[_document_hit(hit) for hit in documents.hits] if documents else [],
        conversations=[schemas.DebugHit.of(hit) for hit in recall.hits] if recall else [],
        weights=_weights(service.memory.flags.recall),
        counts=dict(recall.counts) if recall else {},
        flags=dict(recall.flags) if recall else {},
        timings_ms={stage: round(ms, 3) for stage, ms in timings.items()},
        notes=[*found.warnings, *findings.notes],
    )


def _read(question: ReadQuestion, concepts: tuple[str, ...]) -> schemas.QuestionRead:
    period = question.period
    return schemas.QuestionRead(
        words=list(question.words),
        identifiers=list(question.identifiers),
        period=None if period is None else {
            name: None if value is None else str(value) for name, value in asdict(period).items()
        },
        asks_when=question.asks_when,
        asks_for_code=question.asks_for_code,
        concepts=list(concepts),
    )  # fmt: skip


def _document_hit(hit: DocumentHit) -> schemas.DebugDocumentHit:
    return schemas.DebugDocumentHit(
        text=hit.passage.text,
        citation=hit.citation,
        source_path=hit.passage.path,
        score=round(hit.score, 4),
        bias=round(hit.bias, 4),
        signals={name: round(value, 4) for name, value in hit.parts.items()},
        why=list(hit.why),
    )


def _weights(settings: RecallSettings) -> schemas.WeightsReply:
    weights = settings.weights
    return schemas.WeightsReply(
        dense=weights.alpha,
        lexical=weights.beta,
        code=weights.gamma,
        document_bias=settings.document_bias,
    )
