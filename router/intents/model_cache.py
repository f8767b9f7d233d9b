"""Fitted models on disk, so that messages need not wait for a fit.

The model of the packaged prompts ships with them. That of a workspace's own prompts is fitted on
top of it at the first message, and kept in the workspace.

One `.npz` file of plain arrays and a JSON header (no pickle), named by a hash of everything the
fit depends on. A file that cannot be read counts as not there.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from kds.brain.encoder import shared_encoder
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import PrivateFile, make_private_folder
from kds.router.intents.evidence import IntentRules, RuleBook, lend_patterns, order_rules
from kds.router.intents.examples import examples_key, examples_of, fingerprints
from kds.router.intents.features import WIDTH, WORD_PLACES, readable, vectors
from kds.router.intents.linear import Calibrator, Linear, Matrix
from kds.router.intents.model import IntentModel, Learned, Taught
from kds.router.intents.training import Mix
from kds.router.prompts.promptfile import PromptFile

FORMAT: Final = 8
"""Raise it when features, training or this file change: older caches are then not used."""

SHIPPED: Final = Path(__file__).parent.parent / "fitted" / "intents.npz"
"""The model of the packaged prompts, part of the package."""

ROWS: Final = "example_rows.npz"
"""Beside it: the features of their examples, to fit others on top of them."""

KEPT: Final = 3
"""Cache files that stay: a user who tries two branches of prompts should not wait each time."""


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model, whether it had to be fitted, and what went wrong with the cache on the way."""

    model: IntentModel
    fitted: bool
    warnings: tuple[str, ...] = ()


def open_model(
    prompts: Sequence[PromptFile], cache_dir: Path | None = None, *, may_write: bool = True
) -> OpenedModel:
    """The model of these prompts: from the cache, or fitted, and stored there if it ``may_write``.

    A cache that cannot be read or written costs time, not the answer: it ends in a warning.
    """
    examples, rules = _lessons(prompts)
    warnings: list[str] = []
    learned, path = _shipped_for(examples), None
    if learned is None and cache_dir is not None:
        path = _path(cache_dir, examples, rules)
        learned = _load(path, warnings)
    if learned is not None:
        book = RuleBook(order_rules(learned.labels, rules))
        return OpenedModel(IntentModel(learned, book), fitted=False, warnings=tuple(warnings))
    model = IntentModel.fit_examples(examples, rules, base=shipped_rows())
    if path is not None and may_write:
        _store(model.learned, path, warnings)
    return OpenedModel(model, fitted=True, warnings=tuple(warnings))


def needs_fit(prompts: Sequence[PromptFile], cache_dir: Path) -> bool:
    """Whether opening the model of these prompts would have to fit it first."""
    examples, rules = examples_of(prompts)
    return (
        _shipped_for(examples) is None
        and PrivateFile(_path(cache_dir, examples, rules)).read() is None
    )


def _lessons(
    prompts: Sequence[PromptFile],
) -> tuple[list[tuple[str, str]], tuple[IntentRules, ...]]:
    examples, rules = examples_of(prompts)
    shipped = shipped_model()
    known = {rule.intent for rule in rules} if shipped is None else {*shipped.labels}
    added = {rule.intent for rule in rules} - known
    if added and {label for _, label in examples} & known:
        rules = lend_patterns(rules, examples, sorted(added))
    return examples, rules


@lru_cache(maxsize=1)
def shipped_model() -> Learned | None:
    """The numbers of the packaged prompts, fitted before they were shipped (`make model`).

    None in a tree where they are yet to be made. Raises KdsError when the file is damaged.
    """
    try:
        return undump(SHIPPED.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise KdsError(
            "the model that ships with KDS is damaged", where=str(SHIPPED), hint="reinstall KDS"
        ) from error


def ship_model(prompts: Sequence[PromptFile], path: Path = SHIPPED) -> None:
    """Fit the model of ``prompts`` from nothing, and write it where it ships from."""
    learned = IntentModel.fit(prompts).learned
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(dump(learned, compressed=True))
    rows = vectors([readable(text) for text, _ in examples_of(prompts)[0]])
    words = rows[:, :WORD_PLACES]
    np.savez_compressed(
        path.with_name(ROWS),
        key=np.array(learned.key),
        places=np.flatnonzero(words).astype(np.uint32),
        words=words[words != 0].astype(np.float16),
        meanings=rows[:, WORD_PLACES:].astype(np.float16),
    )
    shipped_model.cache_clear()


def shipped_rows() -> Taught | None:
    """The shipped model with what it was fitted on; None where they do not belong together."""
    learned = shipped_model()
    if learned is None:
        return None
    with np.load(SHIPPED.with_name(ROWS), allow_pickle=False) as found:
        if str(found["key"]) != learned.key:
            return None
        rows: Matrix = np.zeros((len(learned.taught), WIDTH), dtype=np.float32)
        words = np.zeros((len(rows), WORD_PLACES), dtype=np.float32)
        np.put(words, found["places"], found["words"])
        rows[:, :WORD_PLACES] = words
        if shared_encoder().available:
            rows[:, WORD_PLACES:] = found["meanings"]
    return Taught(learned, rows)


def _shipped_for(examples: Sequence[tuple[str, str]]) -> Learned | None:
    """The shipped numbers, if they were learned from these very examples.

    Patterns may differ: they are not part of the linear model, and weigh what they weighed.
    """
    shipped = shipped_model()
    same = shipped is not None and np.array_equal(shipped.taught, fingerprints(examples))
    return shipped if same else None


def _path(
    cache_dir: Path, examples: Sequence[tuple[str, str]], rules: Sequence[IntentRules]
) -> Path:
    libraries = {name: version(name) for name in ("kds-router", "numpy", "regex")}
    shipped = shipped_model()
    inputs = [
        FORMAT, libraries, shared_encoder().available, shipped and shipped.key,
        examples_key(examples, rules),
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:24]
    return cache_dir / f"intents-{digest}.npz"


def dump(learned: Learned, *, compressed: bool = False) -> bytes:
    """The learned numbers as the bytes of an `.npz` file; ``compressed`` ones in half precision."""
    precision = np.float16 if compressed else np.float32
    models = {"calibrator": learned.calibrator, "scope": learned.scope}
    calibrators = {name: model for name, model in models.items() if model is not None}
    header = {
        "format": FORMAT,
        "labels": learned.labels,
        "mix": asdict(learned.mix),
        "key": learned.key,
        "calibrators": {name: model.bias for name, model in calibrators.items()},
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "weights": learned.linear.weights.astype(precision),
        "bias": learned.linear.bias,
        "means": learned.means.astype(precision),
        "taught": learned.taught,
    }
    arrays |= {
        f"{name}_signs": np.stack([model.mean, model.scale, model.weights])
        for name, model in calibrators.items()
    }
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def undump(data: bytes) -> Learned:
    """The inverse of `dump`. Raises ValueError when the bytes are not a whole cache file."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        return _learned(json.loads(found["header"].tobytes()), found)
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, OSError, EOFError) as error:
        raise ValueError(f"not a model cache: {error}") from error


def _learned(header: Mapping[str, Any], found: Mapping[str, "np.ndarray[Any, Any]"]) -> Learned:
    calibrators = {}
    for name, bias in header["calibrators"].items():
        mean, scale, weights = found[f"{name}_signs"]
        calibrators[name] = Calibrator(mean, scale, weights, bias)
    learned = Learned(
        labels=tuple(header["labels"]),
        linear=Linear(found["weights"].astype(np.float32), found["bias"]),
        means=found["means"].astype(np.float32),
        mix=Mix(**header["mix"]),
        calibrator=calibrators["calibrator"],
        scope=calibrators.get("scope"),
        taught=found["taught"],
        key=header["key"],
    )
    shape = (WIDTH, len(learned.labels))
    if header["format"] != FORMAT or {learned.linear.weights.shape, learned.means.shape} != {shape}:
        raise ValueError("not a model cache of this version, or not a whole one")
    return learned


def _load(path: Path, warnings: list[str]) -> Learned | None:
    try:
        data = PrivateFile(path).read()
        return None if data is None else undump(data)
    except StoreError as error:
        warnings.append(f"{path}: the model cache cannot be read ({error.message}); fitted anew")
    except (ValueError, RecursionError) as error:
        warnings.append(f"{path}: {error}; fitted anew")
    return None


def _store(learned: Learned, path: Path, warnings: list[str]) -> None:
    try:
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private_folder(path.parent)
        PrivateFile(path).replace(dump(learned))
        others = [file for file in path.parent.glob("intents-*.npz") if file != path]
        others.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in others[KEPT - 1 :]:
            file.unlink(missing_ok=True)
    except (OSError, StoreError) as error:
        reason = error.message if isinstance(error, StoreError) else error.strerror
        warnings.append(
            f"{path}: the model cannot be kept ({reason}); next time it is fitted again"
        )
