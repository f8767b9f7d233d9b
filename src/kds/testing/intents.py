"""Measures the intent classifier of a workspace on messages with known intents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, Field

from kds.api.measures import percentile, rounded, share, timed
from kds.brain.errors import ConfigError, Problem
from kds.brain.turn import UNKNOWN
from kds.router.intents.evidence import IntentVerdict, Situation
from kds.router.intents.linear import expected_calibration_error
from kds.router.intents.model import IntentModel
from kds.router.intents.policy import decide
from kds.testing.example_files import AnyOf, Loose, Said, read_rows

INTENT_FORM: Final = '{"text": "Make it purple", "intent": "EXECUTE"}'

OUT_OF_SCOPE: Final = frozenset({"OOS", UNKNOWN})
"""In upper case: the intents that mean "none of those known"."""

ACCEPTED: Final = 0.95
"""Share of the messages in scope that are accepted when out-of-scope recall is taken."""

IN_CONVERSATION: Final = Situation(has_session=True)
"""Messages are scored as if work were under way: a set of single messages has no first one."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


def intent_name(text: str) -> str:
    """The intent that ``text`` names; every way to say "none of them" is UNKNOWN.

    >>> intent_name(" oos "), intent_name("card_arrival")
    ('UNKNOWN', 'card_arrival')
    """
    name = text.strip()
    return UNKNOWN if name.upper() in OUT_OF_SCOPE else name


class LabelledMessage(Loose):
    """A message and its accepted intents; UNKNOWN alone when it is out of scope."""

    text: Said
    intents: Annotated[
        AnyOf, AfterValidator(lambda names: tuple(dict.fromkeys(map(intent_name, names))))
    ] = Field(alias="intent")

    @property
    def out_of_scope(self) -> bool:
        """Whether the message belongs to none of the intents."""
        return self.intents == (UNKNOWN,)


def load_intents(path: Path) -> tuple[LabelledMessage, ...]:
    """Read a file of messages, JSON lines. Raises ExampleFileError with all its problems."""
    return read_rows(path, LabelledMessage, form=INTENT_FORM)


@dataclass(frozen=True, slots=True)
class _Scored:
    message: LabelledMessage
    verdict: IntentVerdict
    cpu_ms: float

    @property
    def right(self) -> bool:
        return self.verdict.intent in self.message.intents

    @property
    def best(self) -> str | None:
        """The best real intent."""
        names = [self.verdict.intent, *(score.intent for score in self.verdict.alternatives)]
        return next((name for name in names if name != UNKNOWN), None)

    @property
    def acted(self) -> bool:
        found = self.verdict
        decision = decide(
            found.intent, found.confidence, found.alternatives, in_scope=found.in_scope
        )
        return decision.action == "route"


def score_intents(
    test: Sequence[LabelledMessage], model: IntentModel, tell: Progress
) -> dict[str, object]:
    """Score a model; docs/evaluation.md explains the keys. None where ``test`` says nothing.

    Raises ConfigError when ``test`` has intents that the model does not know.
    """
    _check_labels(test, model)
    return rounded(_figures(_score_all(test, model, tell)))


def _check_labels(test: Sequence[LabelledMessage], model: IntentModel) -> None:
    known = {*model.learned.labels, UNKNOWN}
    hint = f"the model knows {', '.join(sorted(known)[:20])}"
    problems = [
        Problem(message.where or message.text[:40], f"unknown intent '{name}'", hint)
        for message in test
        for name in message.intents
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)


def _score_all(
    test: Sequence[LabelledMessage], model: IntentModel, tell: Progress
) -> list[_Scored]:
    for message in test[:30]:  # patterns are joined after the first messages
        model.score(message.text)
    scored = []
    for number, message in enumerate(test):
        if number % 200 == 0:
            tell("scoring", number, len(test))
        verdict, cpu_ms = timed(partial(model.score, message.text, None, IN_CONVERSATION))
        scored.append(_Scored(message, verdict, cpu_ms))
    return scored


def _figures(scored: Sequence[_Scored]) -> dict[str, float | None]:
    inside = [one for one in scored if not one.message.out_of_scope]
    outside = [one for one in scored if one.message.out_of_scope]
    times = [one.cpu_ms for one in scored]
    return {
        "accuracy": share(one.right for one in inside),
        "oos_recall_at_95": _rejected(inside, outside),
        # the confidence is that of the best real intent, also when the verdict is UNKNOWN
        "ece": expected_calibration_error(
            [one.verdict.confidence for one in inside],
            [one.best in one.message.intents for one in inside],
        )
        if inside
        else None,
        "acted_precision": share(one.right for one in scored if one.acted),
        "coverage": share(one.acted for one in inside),
        "oos_acted": share(one.acted for one in outside),
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
    }


def _scopes(scored: Sequence[_Scored]) -> list[float]:
    return [one.verdict.in_scope for one in scored]


def _rejected(inside: Sequence[_Scored], outside: Sequence[_Scored]) -> float | None:
    """Share out of scope below the threshold that keeps ACCEPTED of those in scope."""
    if not inside or not outside:
        return None
    threshold = np.quantile(_scopes(inside), 1.0 - ACCEPTED)
    return fmean(scope < threshold for scope in _scopes(outside))
