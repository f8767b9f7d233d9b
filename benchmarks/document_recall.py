"""What reading documents and searching them costs, in CPU time.

    python benchmarks/document_recall.py [--pages 1000] [--questions 200]

Documents are made up: sections with numbered headings, one in ten a list of definitions, words
drawn by Zipf's law from a made-up vocabulary, so that common words are as common as in English.
Questions ask for a defined term, for a rule about one, by a section's number, and compare.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from common import Words, cpu_ms, options

from kds.brain.documents.document_store import DocumentStore
from kds.documents.indexing import add_documents

PAGE_WORDS = 450
VOCABULARY = 12_000
SECTION_WORDS = 250

ASKED = (
    "What is the {term}?",
    "What happens to the {term} when the {word} is {other}?",
    "When does the {word} {other} have to be {third}?",
    "What does Section {number} say about the {word}?",
    "Which comes first, the {term} or the {second}?",
)


class Author(Words):
    """Writes documents; the same ones for the same seed."""

    def __init__(self) -> None:
        super().__init__(7, VOCABULARY)
        self.terms: list[str] = []
        self.numbers: list[str] = []

    def text(self, count: int) -> str:
        """Return so many words as sentences."""
        words = self.some(count)
        sentences = [words[at : at + 18] for at in range(0, count, 18)]
        return " ".join(" ".join(one).capitalize() + "." for one in sentences)

    def term(self) -> str:
        """Invent a term, and remember it."""
        name = " ".join(self.random.choices(self.words[200:], k=2)).title()
        self.terms.append(name)
        return name

    def document(self, pages: int) -> str:
        """Write a document."""
        lines = [f"# {self.text(4)[:-1].title()}"]
        for section in range(pages * PAGE_WORDS // SECTION_WORDS):
            number = f"{section // 12 + 1}.{section % 12 + 1:02d}"
            self.numbers.append(number)
            lines.append(f"## Section {number} {self.text(3)[:-1].title()}")
            if section % 10 == 0:
                lines += (f'**"{self.term()}"** means {self.text(22)}' for _ in range(11))
            else:
                lines += (self.text(SECTION_WORDS // 3) for _ in range(3))
        return "\n\n".join(lines)

    def questions(self, count: int) -> Iterator[str]:
        """Yield questions of every kind by turns."""
        pick = self.random.choice
        for at in range(count):
            yield ASKED[at % len(ASKED)].format(
                term=pick(self.terms),
                second=pick(self.terms),
                number=pick(self.numbers),
                word=self.some(1)[0],
                other=self.some(1)[0],
                third=self.some(1)[0],
            )


def main() -> None:
    """Measure and print."""
    given = options(__doc__, pages=1000, questions=200).parse_args()
    author = Author()
    with tempfile.TemporaryDirectory() as folder, DocumentStore(Path(folder) / "d.db") as store:
        _add_one(author, Path(folder), store)
        _add_many(author, Path(folder), store, given.pages)
        _search(author, store, given.questions)


def _add_one(author: Author, folder: Path, store: DocumentStore) -> None:
    path = folder / "twenty-pages.md"
    path.write_text(author.document(20), encoding="utf-8")
    for what in ("20 pages of Markdown, first of all", "the same, unchanged"):
        spent = cpu_ms(lambda: add_documents(store, [path])) / 1000
        print(f"add {what:38} {spent:7.3f} s CPU")


def _add_many(author: Author, folder: Path, store: DocumentStore, pages: int) -> None:
    shelf = folder / "shelf"
    shelf.mkdir()
    for number in range(max(pages // 50, 1)):
        (shelf / f"{number:03}.md").write_text(author.document(50), encoding="utf-8")
    spent = cpu_ms(lambda: add_documents(store, [shelf])) / 1000
    holds = store.holdings()
    print(f"add {pages:,} pages{'':28} {spent:7.3f} s CPU")
    print(f"    {holds.documents} documents, {holds.chunks:,} passages, {holds.tokens:,} tokens, "
          f"{holds.size_bytes / 2**20:.1f} MiB")  # fmt: skip


def _search(author: Author, store: DocumentStore, count: int) -> None:
    asked = list(author.questions(count))
    for question in asked[:10]:
        store.search(question)
    by_kind: dict[int, list[float]] = {}
    for at, question in enumerate(asked):
        spent = cpu_ms(lambda asked=question: store.search(asked))  # type: ignore[misc]
        by_kind.setdefault(at % len(ASKED), []).append(spent)
    for kind, times in by_kind.items():
        print(f"search {ASKED[kind][:45]:46} median {median(times):6.1f} ms CPU")
    times = sorted(time for kind in by_kind.values() for time in kind)
    p95 = times[int(len(times) * 0.95)]
    print(f"search {'all':46} median {median(times):6.1f}, p95 {p95:6.1f}, "
          f"worst {times[-1]:6.1f} ms CPU")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
