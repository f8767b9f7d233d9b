"""What the user's settings mean for a recall."""

from kds.brain.passages.fusion import DEFAULT, Weights
from kds.brain.passages.recalled import RecallSettings
from kds.brain.settings_schema import RecallOptions


def recall_settings(options: RecallOptions) -> RecallSettings:
    """Return the settings of recalls; a weight that is not set has its default.

    >>> recall_settings(RecallOptions(hybrid=False, rerank_beta=0.5)).weights.beta
    0.5
    """
    given = (options.rerank_alpha, options.rerank_beta, options.rerank_gamma)
    defaults = (DEFAULT.alpha, DEFAULT.beta, DEFAULT.gamma)
    weights = Weights(*(own if own is not None else usual
                        for own, usual in zip(given, defaults, strict=True)))  # fmt: skip
    return RecallSettings(hybrid=options.hybrid, chunking=options.chunking, weights=weights)
