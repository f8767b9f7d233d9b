"""Comparing what a file holds with what the server has of it: counts, and a digest of either side.

Read anew from both, row by row, in the order of sessions and messages: nothing that copying worked
out is believed. What was added on the server since is no difference.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeVar

from kds.brain.database.database import Database
from kds.brain.database.engine import Connection, Engine
from kds.brain.kept_text import PrivateText
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.rows import Row
from kds.brain.postgres.migration import beside, kept_texts
from kds.brain.postgres.migration.parts import Held, Part, Tell, held, packed, rows_of
from kds.brain.postgres.migration.sessions import CHUNKS, MESSAGES, WITH_CHUNKS
from kds.brain.postgres.migration.vector_copies import as_file
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.workspace import Workspace

COMPARED_AT_ONCE: Final = 2000
"""Messages."""

_SUMMARIES: Final = (
    "SELECT first_seq, last_seq, text, at, kind FROM summary WHERE session_num = ? "
    "ORDER BY num LIMIT ?"
)
_WITH_VECTORS: Final = (
    f"{WITH_CHUNKS} JOIN embedding ON embedding.chunk_id = chunk.id "
    "JOIN embedding_model ON embedding_model.num = model_num"
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind of thing on both sides."""

    what: str
    in_file: int
    on_server: int
    """How many of these the server has, with the same content."""
    digests: tuple[str, str]
    """Of the file, and of the server."""
    differing: tuple[str, ...] = ()
    """What is missing or different there, by name."""

    @property
    def same(self) -> bool:
        """Whether all of it is there, as it was."""
        return self.in_file == self.on_server and self.digests[0] == self.digests[1]


def compare_sessions(source: Database, target: Tenancy, tell: Tell) -> tuple[Compared, ...]:
    """Compare sessions with their messages, passages, summaries and vectors. Raises StoreError."""
    with source.read() as old, target.read() as new:
        sessions = held(old)
        there = {one.id: one for one in held(new)}
    sides = [_Side(source, {one.num: one for one in sessions}, "f16")]
    known = {one.num: there[one.id] for one in sessions if one.id in there}
    sides.append(_Side(target, known, "halfvec_send(vector)"))
    total = sum(one.messages for one in sessions)
    done = 0
    for parts in packed(((one, 1) for one in sessions), COMPARED_AT_ONCE):
        for side in sides:
            side.read(parts)
        done += sum(part.last - part.first + 1 for part in parts)
        tell(done, total)
    return _results(sessions, *sides)


def compare_rest(source: Database, target: Tenancy, workspace: Workspace) -> tuple[Compared, ...]:
    """Compare what stands beside the sessions. Raises StoreError."""
    with source.read() as old, target.read() as new:
        return (
            _keyed("memories of terms", _entities(old), _entities(new)),
            _keyed("items", _items(old), _items(new)),
            _events(old, new),
            _metrics(source, target, new),
            compare_conversations(workspace, target),
        )


def compare_conversations(workspace: Workspace, target: Tenancy) -> Compared:
    """Compare the contexts that hold: the server's may have gone on, or be newer."""
    held_here = dict(beside.conversations(workspace, target))
    with target.read() as new:
        there = {name for name in held_here if beside.entries_of(new, name)}
    missing = tuple(name for name in held_here if name not in there)
    return _counted("conversations", sorted(held_here), sorted(there), missing)


def compare_texts(workspace: Workspace, target: Tenancy) -> tuple[Compared, ...]:
    """Compare what was learned, one by one, and the work in progress that is live."""
    return (
        *(_learned(what, workspace, target, name) for what, name in kept_texts.LEARNED_TEXTS),
        _work(workspace, target),
    )


class _Side:
    """The digests of one side, by the number that the file gives a session."""

    def __init__(self, engine: Engine, sessions: dict[int, Held], vector: str) -> None:
        self.sessions = sessions
        self.messages = dict.fromkeys(sessions, 0)
        self.summaries = dict.fromkeys(sessions, 0)
        self.vectors: dict[tuple[int, int, str], bytes] = {}
        self._digests = {number: blake2b(digest_size=16) for number in sessions}
        self._engine = engine
        self._vector = vector

    def digest(self, number: int) -> str:
        """Return what a session comes to; nothing where it is not there."""
        found = self._digests.get(number)
        return found.hexdigest() if found else ""

    def read(self, parts: Sequence[Part]) -> None:
        """Take in the rows of these messages; summaries with the last ones of their session."""
        chosen = [part for part in parts if part.session.num in self.sessions]
        runs = [(self.sessions[one.session.num].num, one.first, one.last) for one in chosen]
        files = {run[0]: part.session.num for run, part in zip(runs, chosen, strict=True)}
        with self._engine.read() as connection:
            for row in rows_of(connection, MESSAGES, "message", runs):
                self._take(files[row[0]], row[1:])
                self.messages[files[row[0]]] += 1
            for row in rows_of(connection, CHUNKS, WITH_CHUNKS, runs):
                self._take(files[row[0]], _placeless(row))
            columns = f"session_num, seq, chunk.id, name, {self._vector}"
            for num, _, chunk, name, sent in rows_of(connection, columns, _WITH_VECTORS, runs):
                self._keep_vector(files[num], chunk, name, sent)
            for part in chosen:
                self._take_summaries(connection, part)

    def _take_summaries(self, connection: Connection, part: Part) -> None:
        if part.is_end:
            number = part.session.num
            values = (self.sessions[number].num, part.session.summaries)
            for row in connection.execute(_SUMMARIES, values):
                self._take(number, row)
                self.summaries[number] += 1

    def _keep_vector(self, number: int, chunk: int, name: str, sent: bytes) -> None:
        vector = sent if isinstance(self._engine, Database) else as_file(sent)
        digest = blake2b(vector, digest_size=16).digest()
        self.vectors[number, chunk & ((1 << CHUNK_BITS) - 1), name] = digest

    def _take(self, number: int, row: Sequence[object]) -> None:
        self._digests[number].update(repr(tuple(row)).encode(errors="backslashreplace"))


def _placeless(row: Row) -> tuple[object, ...]:
    """A chunk without the number of its session, which differs."""
    return (row[1], row[2] & ((1 << CHUNK_BITS) - 1), *row[3:])


def _results(sessions: Sequence[Held], file: _Side, server: _Side) -> tuple[Compared, ...]:
    differing = [one for one in sessions if file.digest(one.num) != server.digest(one.num)]
    names = tuple(one.id for one in differing)
    same = {one.num for one in sessions} - {one.num for one in differing}
    digests = (
        overall(file.digest(one.num) for one in sessions),
        overall(server.digest(one.num) for one in sessions),
    )

    def counted(what: str, counts: dict[int, int]) -> Compared:
        there = sum(counts[number] for number in same)
        return Compared(what, sum(counts.values()), there, digests)

    return (
        Compared("sessions", len(sessions), len(same), digests, names),
        counted("messages", file.messages),
        counted("summaries", file.summaries),
        compared_vectors("vectors", file.vectors, server.vectors),
    )


def compared_vectors(what: str, file: Mapping[Any, bytes], server: Mapping[Any, bytes]) -> Compared:
    """Compare the vectors that both have: the server's passages may wait for another model's."""
    common = sorted(file.keys() & server.keys())
    here, there = ([side[key].hex() for key in common] for side in (file, server))
    equal = sum(mine == theirs for mine, theirs in zip(here, there, strict=True))
    return Compared(what, len(common), equal, (overall(here), overall(there)))


def overall(texts: Iterable[str]) -> str:
    """Return what texts come to, in their order."""
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


def _entities(connection: Connection) -> dict[str, tuple[int, str]]:
    """How often each memory was written, and what it says."""
    rows = connection.execute(f"{beside.ENTITIES} ORDER BY key").fetchall()
    return {
        key: (turns, repr((documents, sections, _terms(connection, key))))
        for key, documents, sections, turns, _ in rows
    }


def _terms(connection: Connection, key: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(beside.TERMS, (key,))]


def _items(connection: Connection) -> dict[str, tuple[int, str]]:
    """When each item was changed, and what it says."""
    rows = connection.execute(f"{beside.ITEMS} ORDER BY num").fetchall()
    return {f"{row[0]}{row[1]}": (row[4], repr((row[2], row[3], row[5]))) for row in rows}


def as_it_should_be(
    file: Mapping[str, T], server: Mapping[str, T], written: Callable[[T], int]
) -> dict[str, T]:
    """What the server has of a file's; where it was ``written`` later there, that is right."""
    return {
        key: mine if written(server[key]) > written(mine) else server[key]
        for key, mine in file.items()
        if key in server
    }


def _keyed(
    what: str, file: dict[str, tuple[int, str]], server: dict[str, tuple[int, str]]
) -> Compared:
    """Compare what has keys; what is newer on the server is as it should be."""
    there = as_it_should_be(file, server, lambda one: one[0])
    missing = tuple(key for key, value in file.items() if there.get(key) != value)
    here, listed = ([repr((key, side.get(key))) for key in file] for side in (file, there))
    return _counted(what, here, listed, missing)


def _events(old: Connection, new: Connection) -> Compared:
    """Compare the log of consent and, while that is the same, the profile.

    Where the server was asked for consent itself, that log counts, and stays.
    """
    file, server = ([repr(tuple(row)) for row in one.execute(beside.EVENTS)] for one in (old, new))
    if server == file:
        file, server = (
            [*log, *(repr(tuple(row)) for row in one.execute(beside.PROFILE))]
            for log, one in ((file, old), (server, new))
        )
    same = sum(mine == theirs for mine, theirs in zip(file, server, strict=False))
    own = () if same == len(file) else ("the server has its own",)
    return _counted("profile and consent", file, server[: len(file)], own, same)


def _metrics(source: Database, target: Tenancy, new: Connection) -> Compared:
    file: list[str] = []
    lacking: set[str] = set()
    count = 0
    for rows in beside.metric_slices(source, target):
        file += [repr(tuple(row)) for row in rows]
        missing = beside.missing_metrics(new, rows)
        lacking |= {repr(tuple(row)) for row in missing}
        count += len(missing)
    there = [row for row in file if row not in lacking]
    return _counted("figures", file, there, tuple(sorted(lacking)[:1]), len(file) - count)


def _learned(what: str, workspace: Workspace, target: Tenancy, name: str) -> Compared:
    file = kept_texts.entries_in(PrivateText(workspace.brain / name), name)
    on_server = Counter(kept_texts.entries_in(kept_texts.text_of(target, name), name))
    lacking = Counter(file) - on_server
    there = [line for line in file if line not in lacking]
    missing = (name,) if lacking else ()
    return _counted(what, file, there, missing, len(file) - lacking.total())


def _work(workspace: Workspace, target: Tenancy) -> Compared:
    here = list(kept_texts.live_work(workspace, target))
    there = [name for name in here if kept_texts.text_of(target, name).read() is not None]
    missing = tuple(name for name in here if name not in there)
    return _counted("work in progress", here, there, missing)


def _counted(
    what: str,
    file: Sequence[str],
    server: Sequence[str],
    missing: tuple[str, ...],
    same: int | None = None,
) -> Compared:
    return Compared(
        what,
        len(file),
        len(file) - len(missing) if same is None else same,
        (overall(file), overall(server)),
        missing,
    )
