"""Two documents to search in, a lease in plain text and a guide in Markdown; and made-up ones."""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from kds.brain.documents.store import Documents
from kds.brain.documents.values import Block, Content, Document, Heading, Part, Source, read_heading
from kds.readers.markdown import read_markdown
from kds.readers.text import read_text

Put = Callable[..., Document]

_SHELF = Path(__file__).parent / "shelf"
LEASE = (_SHELF / "lease.txt").read_text(encoding="utf-8")
GUIDE = (_SHELF / "guide.md").read_text(encoding="utf-8")

WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)


def stock(store: Documents) -> None:
    """Put the lease and the guide into a store."""
    store.put(read_text(LEASE, "lease"), source_of(LEASE, "/shelf/lease.txt"))
    store.put(read_markdown(GUIDE, "guide"), source_of(GUIDE, "/shelf/guide.md"))


def source_of(text: str, path: str) -> Source:
    return Source(path, len(text), WRITTEN, sha256(text.encode()).hexdigest())


def content_of(title: str, *sections: tuple[str, list[str]]) -> Content:
    """A document of sections with paragraphs."""
    parts = (
        Part(_heading(heading), tuple(map(Block, paragraphs))) for heading, paragraphs in sections
    )
    return Content(title, "text", tuple(parts))


def _heading(text: str) -> Heading | None:
    return read_heading(text, 1) if text else None


def putting(store: Documents) -> Put:
    """What stores sections: ``put("/x/a.txt", ("1 Heading", ["Paragraph."]))``."""

    def put_it(path: str, *sections: tuple[str, list[str]], title: str = "") -> Document:
        content = content_of(title or Path(path).stem, *sections)
        return store.put(content, source_of(repr(sections), path))

    return put_it
