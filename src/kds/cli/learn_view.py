"""What the `kds learn` commands show: candidates and examples, as tables and as JSON."""

from collections.abc import Iterable
from typing import Any

from kds.brain.learning.candidate import Candidate
from kds.brain.learning.learned_file import LearnedExample
from kds.cli.memory_sessions import moment
from kds.cli.output import print_table


def candidate_dict(one: Candidate) -> dict[str, Any]:
    """A candidate as JSON has it."""
    return {
        "id": one.id,
        "text": one.text,
        "intent": one.intent,
        "state": one.state,
        "occurrences": one.occurrences,
        "against": one.against,
        "confidence": round(one.confidence, 4),
        "kinds": dict(one.kinds),
        "was": list(one.was),
        "first": moment(one.first),
        "last": moment(one.last),
    }


def example_dict(one: LearnedExample) -> dict[str, Any]:
    """A learned example as JSON has it."""
    return {"id": one.id, "text": one.text, "intent": one.intent, "by": one.by, "why": one.why}


def print_examples(examples: Iterable[LearnedExample]) -> None:
    """Print what is learned."""
    rows = [(one.id, one.text, one.intent, one.by, one.why) for one in examples]
    print_table(("learned", "message", "intent", "by", "why"), rows)


def print_candidates(found: Iterable[Candidate]) -> None:
    """Print candidates with what speaks for them."""
    rows = [
        (one.id, one.text, one.intent, f"{one.confidence:.2f}", one.state, one.why) for one in found
    ]
    print_table(("candidate", "message", "intent", "confidence", "state", "why"), rows)
