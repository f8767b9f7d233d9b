"""Copying the vectors of passages, of the models that both sides keep."""

from collections.abc import Mapping, Sequence
from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.engine import Connection
from kds.brain.passages.rows import insert, marks, slices
from kds.brain.passages.vector_blob import FORMAT, from_blob
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.vector_search import written

Models = Mapping[str, int]
"""The server's number of each model whose vectors are copied."""

_MODEL: Final = "name, dimensions, serving, wanted"


def common_models(source: Database, target: Tenancy) -> Models:
    """Return the models whose vectors are copied; a server that has none takes the file's.

    Where the server has others already, those stay: passages get their vectors from them.
    """
    with source.read() as old:
        models = old.execute(f"SELECT {_MODEL} FROM embedding_model ORDER BY num").fetchall()
    with target.write() as connection:
        if connection.execute("SELECT count(*) FROM embedding_model").fetchone()[0] == 0:
            insert(connection, "embedding_model", _MODEL, models)
        widths = {name: width for name, width, *_ in models}
        found = connection.execute("SELECT name, num, dimensions FROM embedding_model").fetchall()
        same = {name: num for name, num, width in found if width and widths.get(name) == width}
        for name in same:
            connection.execute("SELECT index_vectors(?)", (widths[name],))
    return same


def read(connection: Connection, chunk_ids: Sequence[int]) -> list[tuple[int, str, bytes]]:
    """Read passage, model and vector from a file."""
    found: list[tuple[int, str, bytes]] = []
    for some in slices(chunk_ids):
        found += connection.execute(
            "SELECT chunk_id, name, f16 FROM embedding "
            "JOIN embedding_model ON embedding_model.num = model_num "
            f"WHERE chunk_id IN ({marks(some)}) ORDER BY chunk_id, name",
            some,
        )
    return found


def store(
    connection: Connection,
    models: Models,
    placed: Mapping[int, int],
    vectors: Sequence[tuple[int, str, bytes]],
) -> None:
    """Store vectors as they are, bit for bit; ``placed`` has the server's id of each passage."""
    rows = [
        (placed[chunk_id], models[name], written(from_blob(blob)))
        for chunk_id, name, blob in vectors
        if name in models and chunk_id in placed
    ]
    insert(connection, "embedding", "chunk_id, model_num, vector", rows, "ON CONFLICT DO NOTHING")


def queue_rest(connection: Connection, chunk_ids: Sequence[int]) -> None:
    """Queue the passages that have no vector of the model that is wanted."""
    connection.execute(
        "INSERT INTO embed_job(chunk_id, next_at) SELECT one.id, 0 "
        "FROM unnest(CAST(? AS bigint[])) AS one(id) "
        "JOIN embedding_model AS model ON model.wanted = 1 WHERE NOT EXISTS (SELECT 1 "
        "FROM embedding WHERE chunk_id = one.id AND model_num = model.num) ON CONFLICT DO NOTHING",
        (list(chunk_ids),),
    )


def as_file(sent: bytes) -> bytes:
    """Return what ``halfvec_send`` gave in the form that a file keeps vectors in."""
    import numpy as np

    return np.frombuffer(sent, dtype=">f2", offset=4).astype(FORMAT).tobytes()
