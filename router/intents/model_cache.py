"""Fitted models on disk, so that messages need not wait for a fit.

The model of the packaged prompts ships with them. That of a workspace's own prompts is fitted on
top of it at the first message, and kept in the workspace.

One `.npz` file of plain arrays and a JSON header (no pickle), named by a hash of everything the
fit depends on. A file that cannot be read, or that came with the project, is set aside as `.bad`,
and the model is fitted anew.
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

from kds.brain.errors import KdsError, StoreError
from kds.brain.files import make_private_folder, read_trusted, replace_trusted
from kds.router.intents.calibration import Calibrator
from kds.router.intents.certainty import Mix
from kds.router.intents.evidence import IntentRules, RuleBook, order_rules
from kds.router.intents.features import Block, FeatureSpace
from kds.router.intents.lessons import fingerprints, lessons, lessons_key
from kds.router.intents.model import IntentModel, Learned
from kds.router.intents.nearest import ExampleIndex
from kds.router.intents.terms import KINDS
from kds.router.intents.training import FitReport
from kds.router.prompts.promptfile import PromptFile

FORMAT: Final = 6
"""Raise it when features, training or this file change: older caches are then not used."""

SHIPPED: Final = Path(__file__).parent.parent / "fitted" / "intents.npz"
"""The model of the packaged prompts, part of the package."""

KEPT: Final = 3
"""Cache files that stay: a user who tries two branches of prompts should not wait each time."""

LIBRARIES: Final = ("kds-router", "numpy", "scikit-learn", "regex")
_TERM_END: Final = "\n"
"""Terms hold no line ends: the analyzers split at white space."""


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
    examples, rules = lessons(prompts)
    warnings: list[str] = []
    learned, path = _shipped_for(examples), None
    if learned is None and cache_dir is not None:
        path = _path(cache_dir, examples, rules)
        learned = _load(path, warnings, may_write=may_write)
    if learned is not None:
        book = RuleBook(order_rules(learned.labels, rules))
        return OpenedModel(IntentModel(learned, book), fitted=False, warnings=tuple(warnings))
    model = IntentModel.fit_examples(examples, rules, base=shipped_model())
    if path is not None and may_write:
        _store(model.learned, path, warnings)
    return OpenedModel(model, fitted=True, warnings=tuple(warnings))


def needs_fit(prompts: Sequence[PromptFile], cache_dir: Path) -> bool:
    """Whether opening the model of these prompts would have to fit it first."""
    examples, rules = lessons(prompts)
    return (
        _shipped_for(examples) is None and read_trusted(_path(cache_dir, examples, rules)) is None
    )


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
            "the model that ships with KDS is damaged", where=str(SHIPPED), hint="install KDS anew"
        ) from error


def ship_model(prompts: Sequence[PromptFile], path: Path = SHIPPED) -> None:
    """Fit the model of ``prompts`` from nothing, and write it where it ships from."""
    content = dump(IntentModel.fit(prompts).learned, compressed=True)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    shipped_model.cache_clear()


def _shipped_for(examples: Sequence[tuple[str, str]]) -> Learned | None:
    """The shipped numbers, if they were learned from these very examples.

    Patterns may differ: they are not part of the text head, and weigh what they weighed.
    """
    shipped = shipped_model()
    same = shipped is not None and np.array_equal(shipped.taught, fingerprints(examples))
    return shipped if same else None


def _path(
    cache_dir: Path, examples: Sequence[tuple[str, str]], rules: Sequence[IntentRules]
) -> Path:
    return cache_dir / f"intents-{cache_key(examples, rules)}.npz"


def cache_key(examples: Sequence[tuple[str, str]], rules: Sequence[IntentRules]) -> str:
    """A hash of all that a fit depends on: what it learns from, and on top of what by what."""
    libraries = {name: version(name) for name in LIBRARIES}
    shipped = shipped_model()
    inputs = [FORMAT, libraries, shipped and shipped.key, lessons_key(examples, rules)]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:24]


def dump(learned: Learned, *, compressed: bool = False) -> bytes:
    """The learned numbers as the bytes of an `.npz` file.

    ``compressed`` it has two fifths of the size, and takes 15 ms more to read.
    """
    blocks = learned.space.blocks
    header = {
        "format": FORMAT,
        "labels": learned.labels,
        "mix": asdict(learned.mix),
        "report": asdict(learned.report),
        "examples": learned.examples.count,
        "key": learned.key,
        "calibrators": {name: model.bias for name, model in _calibrators(learned).items()},
        "terms": {block.kind: _TERM_END.join(block.vocabulary) for block in blocks},
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "weights": learned.weights,
        "bias": learned.bias,
        "starts": learned.examples.starts,
        "rows": learned.examples.rows,
        "values": learned.examples.values,
        "label_starts": learned.examples.label_starts,
        "taught": learned.taught,
    }
    arrays |= {f"idf_{block.kind}": block.idf for block in blocks}
    arrays |= {
        f"{name}_signs": np.stack([model.mean, model.scale, model.weights])
        for name, model in _calibrators(learned).items()
    }
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def undump(data: bytes) -> Learned:
    """The inverse of `dump`. Raises ValueError when the bytes are not a whole cache file."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        header = json.loads(found["header"].tobytes())
        return _learned(header, found)
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, OSError, EOFError) as error:
        raise ValueError(f"not a model cache: {error}") from error


def _calibrators(learned: Learned) -> Mapping[str, Calibrator]:
    models = {"calibrator": learned.calibrator, "scope": learned.scope}
    return {name: model for name, model in models.items() if model is not None}


def _learned(header: Mapping[str, Any], found: Mapping[str, "np.ndarray[Any, Any]"]) -> Learned:
    blocks = tuple(_block(kind, header["terms"][kind], found[f"idf_{kind}"]) for kind in KINDS)
    calibrators = {
        name: _calibrator(found[f"{name}_signs"], bias)
        for name, bias in header["calibrators"].items()
    }
    learned = Learned(
        labels=tuple(header["labels"]),
        space=FeatureSpace(blocks),
        weights=found["weights"],
        bias=found["bias"],
        examples=ExampleIndex(
            found["starts"],
            found["rows"],
            found["values"],
            found["label_starts"],
            header["examples"],
        ),
        mix=Mix(**header["mix"]),
        calibrator=calibrators["calibrator"],
        scope=calibrators.get("scope"),
        report=FitReport(**header["report"]),
        taught=found["taught"],
        key=header["key"],
    )
    width = len(learned.labels)
    shapes = [
        (learned.weights.shape, (learned.space.size, width)),
        (learned.examples.starts.shape, (learned.space.size + 1,)),
        (learned.examples.label_starts.shape, (width,)),
        *((block.idf.shape, (len(block.vocabulary),)) for block in blocks),
    ]
    if header["format"] != FORMAT or any(shape != wanted for shape, wanted in shapes):
        raise ValueError("not a model cache of this version, or not a whole one")
    return learned


def _calibrator(signs: "np.ndarray[Any, Any]", bias: float) -> Calibrator:
    mean, scale, weights = signs
    return Calibrator(mean, scale, weights, bias)


def _block(kind: str, joined: str, idf: "np.ndarray[Any, Any]") -> Block:
    terms = joined.split(_TERM_END) if joined else []
    return Block(kind, {term: index for index, term in enumerate(terms)}, idf)


def _load(path: Path, warnings: list[str], *, may_write: bool) -> Learned | None:
    try:
        data = read_trusted(path)
    except StoreError as error:
        warnings.append(f"{path}: the model cache cannot be read ({error.message}); fitted anew")
        return None
    if data is None and not path.exists():
        return None
    try:
        if data is None:
            raise ValueError("not a model cache that KDS wrote here")
        return undump(data)
    except (ValueError, RecursionError) as error:
        fate = "set aside, fitted anew" if may_write else "fitted anew"
        warnings.append(f"{path}: {error}; {fate}")
    if not may_write:
        return None
    try:
        path.replace(path.with_suffix(".bad"))
    except OSError as error:
        warnings.append(f"{path}: cannot be set aside ({error.strerror})")
    return None


def _store(learned: Learned, path: Path, warnings: list[str]) -> None:
    try:
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private_folder(path.parent)
        replace_trusted(path, dump(learned))
        _forget_older(path)
    except (OSError, StoreError) as error:
        reason = error.message if isinstance(error, StoreError) else error.strerror
        warnings.append(
            f"{path}: the model cannot be kept ({reason}); next time it is fitted again"
        )


def _forget_older(path: Path) -> None:
    """Keep the files of the last few prompt sets only."""
    others = [file for file in path.parent.glob("intents-*.npz") if file != path]
    others.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    for file in others[KEPT - 1 :]:
        file.unlink(missing_ok=True)
