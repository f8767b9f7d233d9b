"""Finding code by its names: 600 functions of the libraries installed here, five ways to ask.

    python benchmarks/code_identifiers.py [--embeddings MODULE:CLASS] [--functions N] [--json]

Every function is a message of its own, a fenced block in a conversation of twelve; the question
is put to all conversations at once. It is answered when the function is among the first five.

    exact      the name                       parse_content_type
    split      the words of the name          parse content type
    variant    the name in the other case     parseContentType
    called     a function that only this one of the 600 calls
    docstring  the first sentence of the docstring, which has been cut out of the code

Beside KDS: the index's own ranking (SQLite's FTS5 over the text as it is), and with --embeddings
the nearest vectors alone.
"""

import ast
import hashlib
import json
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from common import options

from kds.api.embeddings import embed_waiting, load_embedder
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall
from kds.brain.passages.store import Embedder
from kds.brain.words.terms import WORD

FUNCTIONS = 600
A_CONVERSATION = 12
ASKED = 5
KINDS = ("exact", "split", "variant", "called", "docstring")
IDENTIFIER_KINDS = ("exact", "split", "variant", "called")
LINES = range(5, 61)
LIBRARIES = (
    "click", "fastapi", "jinja2", "langchain-core", "pydantic", "rich", "scikit-learn", "spacy",
    "starlette", "uvicorn", "httpx", "hypothesis", "pytest", "numpy", "mcp",
)  # fmt: skip

Search = Callable[[str], list[str]]


@dataclass(frozen=True)
class Function:
    """A function of a library. ``bare`` is its source without the docstring."""

    name: str
    bare: str
    docstring: str
    calls: frozenset[str]


@dataclass(frozen=True)
class Query:
    """A question, and the function that answers it."""

    kind: str
    text: str
    name: str


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, "--json", functions=FUNCTIONS)
    parser.add_argument("--embeddings", metavar="MODULE:CLASS")
    given = parser.parse_args()
    functions = list(_chosen(given.functions))
    queries = list(_queries(functions))
    embedder = load_embedder(given.embeddings) if given.embeddings else None
    with tempfile.TemporaryDirectory() as folder:
        rows = _measured(Path(folder), functions, queries, embedder)
    _report(rows, len(functions), as_json=given.json)


def _measured(
    folder: Path, functions: Sequence[Function], queries: Sequence[Query], embedder: Embedder | None
) -> dict[str, dict[str, float]]:
    code = [function.bare for function in functions]
    with _stored(folder / "code.db", functions, code) as store:
        searches = {"FTS5": _plain(functions, code), "KDS": _kds(store, None)}
        if embedder is not None:
            embed_waiting(store, embedder)
            searches |= {"dense": _dense(store, embedder), "KDS+model": _kds(store, embedder)}
        return {name: _recalls(queries, search) for name, search in searches.items()}


def _recalls(queries: Sequence[Query], search: Search) -> dict[str, float]:
    found: Counter[str] = Counter()
    asked = Counter(query.kind for query in queries)
    for query in queries:
        found[query.kind] += query.name in search(query.text)[:ASKED]
    return {kind: found[kind] / asked[kind] for kind in asked}


def _kds(store: SqliteStore, embedder: Embedder | None) -> Search:
    def search(text: str) -> list[str]:
        hits = recall(store, text, limit=2 * ASKED, embedder=embedder).hits
        return list(dict.fromkeys(hit.passage.message_id for hit in hits))

    return search


def _dense(store: SqliteStore, embedder: Embedder) -> Search:
    def search(text: str) -> list[str]:
        found = store.search_dense(embedder.embed_query(text), model=embedder.name, limit=4 * ASKED)
        passages = store.passages([*found])
        return list(dict.fromkeys(passage.message_id for passage in passages))

    return search


def _plain(functions: Sequence[Function], code: Sequence[str]) -> Search:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE plain USING fts5(body, tokenize='porter unicode61')")
    connection.executemany("INSERT INTO plain VALUES (?)", [(text,) for text in code])

    def search(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in WORD.findall(text))
        rows = connection.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?", (words, ASKED)
        )
        return [functions[row[0] - 1].name for row in rows]

    return search


def _stored(path: Path, functions: Sequence[Function], code: Sequence[str]) -> SqliteStore:
    store = SqliteStore(path)
    for at, (function, text) in enumerate(zip(functions, code, strict=True)):
        session = f"code-{at // A_CONVERSATION}"
        if at % A_CONVERSATION == 0:
            store.create_session(session_id=session)
        store.append(session, "assistant", f"```python\n{text}\n```", message_id=function.name)
    return store


def _queries(functions: Sequence[Function]) -> Iterator[Query]:
    names = {function.name for function in functions}
    callers = Counter(call for function in functions for call in function.calls)
    for function in functions:
        words = _words(function.name)
        first = re.split(r"(?<=[.!?])\s|\n\n", function.docstring.strip())[0]
        yield Query("exact", function.name, function.name)
        yield Query("split", " ".join(words), function.name)
        yield Query("variant", _other_case(function.name, words), function.name)
        own = sorted(call for call in function.calls if callers[call] == 1 and call not in names)
        if own:
            yield Query("called", max(own, key=lambda call: (len(call), call)), function.name)
        yield Query("docstring", " ".join(first.split()), function.name)


def _other_case(name: str, words: Sequence[str]) -> str:
    if "_" in name.strip("_"):
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return "_".join(words)


def _words(name: str) -> list[str]:
    return [
        part.lower()
        for piece in name.split("_")
        for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", piece)
    ]


def _chosen(count: int) -> Iterator[Function]:
    """Pick functions by the hash of their name: the same ones for the same libraries."""
    found: dict[str, Function] = {}
    for path in _files():
        for function in _functions(path):
            found.setdefault(function.name, function)
    names = sorted(found, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    for name in names[:count]:
        yield found[name]


def _files() -> Iterator[Path]:
    installed = {one.metadata["Name"].lower().replace("_", "-"): one for one in distributions()}
    for library in LIBRARIES:
        if library in installed:
            for file in sorted(installed[library].files or [], key=str):
                if file.suffix == ".py" and "test" not in str(file).lower():
                    yield Path(str(file.locate()))


def _functions(path: Path) -> Iterator[Function]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if (
                lines in LINES
                and len(docstring.split()) >= 5
                and len(_words(node.name)) >= 2
                and not node.name.startswith("__")
            ):
                yield _function(node, text, docstring)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, text: str, docstring: str) -> Function:
    calls = frozenset(
        call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute | ast.Name)
    )
    source = text.split("\n")[node.lineno - 1 : node.end_lineno]
    quoted = node.body[0]
    start, end = quoted.lineno - node.lineno, (quoted.end_lineno or quoted.lineno) - node.lineno
    bare = [*source[:start], *source[end + 1 :]]
    return Function(
        node.name,
        "\n".join(bare),
        docstring,
        frozenset(call for call in calls if len(_words(call)) >= 2),
    )


def _report(rows: Mapping[str, Mapping[str, float]], functions: int, *, as_json: bool) -> None:
    table = {
        name: {kind: round(100 * share, 1) for kind, share in row.items()}
        | {
            "identifiers": _mean(row, IDENTIFIER_KINDS),
            "all": _mean(row, KINDS),
        }
        for name, row in rows.items()
    }
    if as_json:
        print(json.dumps({"functions": functions, "recall_at_5": table}, indent=2))
        return
    columns = (*KINDS, "identifiers", "all")
    print(f"{functions} functions, recall@5 in %")
    print(f"{'':<10}" + "".join(f"{column:>12}" for column in columns))
    for name, row in table.items():
        print(f"{name:<10}" + "".join(f"{row[column]:>12.1f}" for column in columns))


def _mean(row: Mapping[str, float], kinds: Sequence[str]) -> float:
    return round(100 * sum(row[kind] for kind in kinds) / len(kinds), 1)


if __name__ == "__main__":
    main()
