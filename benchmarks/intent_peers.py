"""Intent classifiers that run offline, behind one interface, for `peers.py`.

Each learns from pairs of text and label, of which OOS marks what is none of the intents, and
names for a message the best intent with a score that says how far it is trusted.
"""

import importlib.util
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from kds.brain.turn import UNKNOWN
from kds.router.intents.model import IntentModel

OOS = UNKNOWN
Pair = tuple[str, str]
Answer = tuple[str, float]
Predict = Callable[[str], Answer]


class Peer(Protocol):
    """A way to learn intents. ``learn`` returns a function that classifies one message."""

    name: str

    def learn(self, pairs: Sequence[Pair]) -> Predict:
        """Learn from ``pairs``."""
        ...


@dataclass(frozen=True)
class Kds:
    """The classifier of this package, without patterns: the data has none."""

    name: str = "KDS"

    def learn(self, pairs: Sequence[Pair]) -> Predict:
        """Fit the model of the product."""
        model = IntentModel.fit_examples(list(pairs), none=OOS)

        def predict(text: str) -> Answer:
            verdict = model.score(text)
            known = [verdict.intent, *(other.intent for other in verdict.alternatives)]
            return next((intent for intent in known if intent != OOS), OOS), verdict.in_scope

        return predict


@dataclass(frozen=True)
class Linear:
    """TF-IDF over words and characters with a linear model, as one would build in ten lines.

    The score is the lead of the best intent over the out-of-scope class where that was learned,
    else the margin of the best intent.
    """

    name: str
    kind: str

    def learn(self, pairs: Sequence[Pair]) -> Predict:
        """Fit the pipeline."""
        pipeline = self._pipeline()
        pipeline.fit([text for text, _ in pairs], [label for _, label in pairs])
        labels = list(pipeline.classes_)
        none = labels.index(OOS) if OOS in labels else None

        def predict(text: str) -> Answer:
            margins = pipeline.decision_function([text])[0]
            ranked = sorted(range(len(labels)), key=lambda index: -margins[index])
            best = next(index for index in ranked if index != none)
            bar = 0.0 if none is None else margins[none]
            return labels[best], float(margins[best] - bar)

        return predict

    def _pipeline(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline, make_union
        from sklearn.svm import LinearSVC

        features = make_union(
            TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
        )
        head = LinearSVC() if self.kind == "svm" else LogisticRegression(C=30.0, max_iter=300)
        return make_pipeline(features, head)


@dataclass(frozen=True)
class SemanticRouter:
    """semantic-router with a sparse encoder of its own that needs no download.

    Its IndexedRouter mixes a dense and a sparse score; the weight of the dense one is 0 here,
    since every dense encoder is a download or a service. It knows no out-of-scope class: those
    rows are left out, and the score of the best route says what to refuse.
    """

    name: str

    def learn(self, pairs: Sequence[Pair]) -> Predict:
        """Build the routes and their index."""
        from semantic_router import IndexedRouter, Route
        from semantic_router.encoders import TfidfEncoder

        utterances: dict[str, list[str]] = defaultdict(list)
        for text, label in pairs:
            if label != OOS:
                utterances[label].append(text)
        router = IndexedRouter(
            encoder=_no_dense_encoder(),
            sparse_encoder=TfidfEncoder(),
            routes=[Route(name=label, utterances=texts) for label, texts in utterances.items()],
            alpha=0.0,
            aggregation="sum",  # better than its default, the mean, on all our data
        )

        def predict(text: str) -> Answer:
            choice = router(text)
            return choice.name or OOS, float(choice.confidence or 0.0)

        return predict


def intent_peers() -> list[Peer]:
    """Those that are installed, KDS first."""
    peers: list[Peer] = [
        Kds(),
        Linear("TF-IDF word+char, LinearSVC", "svm"),
        Linear("TF-IDF word+char, logistic regression", "logistic"),
    ]
    if importlib.util.find_spec("semantic_router"):
        name = f"semantic-router {version('semantic-router')}"
        peers.append(SemanticRouter(f"{name}, TF-IDF, aggregation sum"))
    return peers


def _no_dense_encoder() -> Any:
    """A dense encoder that says nothing; the router insists on having one."""
    from semantic_router.encoders import DenseEncoder

    class Nothing(DenseEncoder):  # type: ignore[misc]  # no types without the extra `bench`
        name: str = "nothing"

        def __call__(self, docs: list[Any]) -> list[list[float]]:
            return [[1.0] for _ in docs]

    return Nothing()
