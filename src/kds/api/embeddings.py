"""Embedding models by name: the encoder that ships with KDS, or ``module:Class``.

Without a setting it is the shipped encoder. A class is an ``Embeddings`` of langchain-core, or
anything of that shape; it is made without arguments, so that its own settings (environment
variables) hold.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from kds.brain.encoder import NAME, EncoderError, ShippedEmbedder, shared_encoder
from kds.brain.errors import KdsError, StoreError
from kds.brain.memory.memory_store import EMBEDDING, MemoryStore
from kds.brain.passages.store import Embedder, PassageStore

BATCH: Final = 64
"""Texts that are embedded at once: a second or two on one core for a MiniLM-class model."""

OFF: Final = "off"
"""Words only."""

Teller = Callable[[str, int, int], None]
"""Is told what is done, how much of it, and of how much."""


class EmbeddingsError(KdsError):
    """The embedding model cannot be used."""


@dataclass(frozen=True, slots=True)
class NamedEmbedder:
    """An ``Embeddings`` with the name under which its vectors are stored."""

    name: str
    model: Any

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return [list(map(float, vector)) for vector in self.model.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return list(map(float, self.model.embed_query(text)))


def model_name(setting: str | None) -> str | None:
    """Return the model that a setting names; None where it is off.

    >>> model_name(None), model_name("off"), model_name("mine:Model")
    ('shipped', None, 'mine:Model')
    """
    return None if setting == OFF else setting or NAME


def load_embedder(name: str) -> Embedder:
    """Make the embedding model that ``name`` names. Raises EmbeddingsError when it cannot be."""
    if name == NAME:
        if not shared_encoder().available:
            raise EncoderError(
                "the shipped embedding model needs onnxruntime",
                hint="pip install onnxruntime, or set recall.embeddings to off",
            )
        return ShippedEmbedder()
    module, separator, attribute = name.partition(":")
    if not (module and separator and attribute):
        raise EmbeddingsError(
            f"unknown embedding model '{name}'", hint=f"write MODULE:CLASS, or {NAME}"
        )
    model = _made(name, module, attribute)
    if not (hasattr(model, "embed_documents") and hasattr(model, "embed_query")):
        raise EmbeddingsError(
            f"'{name}' has no embed_documents and embed_query",
            hint="name a class of the shape of langchain-core's Embeddings",
        )
    return NamedEmbedder(name, model)


def embed_waiting(
    store: PassageStore,
    embedder: Embedder,
    *,
    tell: Teller | None = None,
    batch: int = BATCH,
    goes_on: Callable[[], bool] = lambda: True,
) -> int:
    """Give what waits its vector of ``embedder``: chunks, then summaries; returns how many.

    ``goes_on`` is asked before each ``batch``.

    Raises EmbeddingsError when the model fails: its jobs stay queued.
    """
    store.use_model(embedder.name)
    total = sum(model.waiting for model in store.models() if model.name == embedder.name)
    done = 0
    while goes_on() and (jobs := store.pending_embeddings(batch)):
        ids = [job.chunk_id for job in jobs]
        started = perf_counter()
        try:
            vectors = embedder.embed_documents([job.text for job in jobs])
        except Exception as error:  # foreign code: its jobs must go back
            store.fail_embeddings(ids, f"{type(error).__name__}: {error}")
            raise _failed(embedder, error) from error
        if isinstance(store, MemoryStore):  # a document store keeps no measurements
            took_ms = round((perf_counter() - started) * 1000.0, 3)
            with suppress(StoreError):
                store.metrics.add(EMBEDDING, {"texts": len(jobs), "ms": took_ms})
        done += store.store_embeddings(embedder.name, dict(zip(ids, vectors, strict=True)))
        if tell is not None:
            tell("embedding", done, max(total, done))
    try:
        while isinstance(store, MemoryStore) and goes_on():
            if not (made := store.embed_summaries(embedder)):
                break
            done += made
    except StoreError:
        raise
    except Exception as error:  # foreign code
        raise _failed(embedder, error) from error
    return done


def _failed(embedder: Embedder, error: Exception) -> EmbeddingsError:
    return EmbeddingsError(
        f"the model '{embedder.name}' failed: {type(error).__name__}: {error}",
        hint="see whether its service is up; what is done is kept",
    )


def _made(name: str, module: str, attribute: str) -> object:
    try:
        found = getattr(import_module(module), attribute)
        return found() if callable(found) else found
    except ImportError as error:
        reason, hint = str(error), "install it, or check the name of the module"
    except AttributeError as error:
        reason, hint = str(error), "check the name of the class"
    except Exception as error:  # noqa: BLE001  # whatever a constructor of theirs raises
        reason, hint = f"{type(error).__name__}: {error}", "it is made without arguments"
    raise EmbeddingsError(f"'{name}' cannot be loaded: {reason}", hint=hint)
