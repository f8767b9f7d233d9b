"""What the `kds learn` commands show: candidates and examples, as tables and as JSON."""

from collections.abc import Iterable
from typing import Any, Final

from kds.brain.learning.candidate import Candidate
from kds.brain.learning.learned_file import Learned, LearnedExample
from kds.brain.learning.reference import LearnedReference
from kds.cli.output import fields, print_table

_CANDIDATE: Final = "id text intent state occurrences against confidence kinds was first last"


def candidate_dict(one: Candidate) -> dict[str, Any]:
    """A candidate as JSON has it."""
    return fields(one, _CANDIDATE) | {"confidence": round(one.confidence, 4)}


def example_dict(one: LearnedExample) -> dict[str, Any]:
    """A learned example as JSON has it."""
    return fields(one, "id text intent by why")


def reference_dict(one: LearnedReference) -> dict[str, Any]:
    """What a description means, as JSON has it."""
    return fields(one, "id text antecedent by")


def learned_dict(one: Learned) -> dict[str, Any]:
    """Anything learned, as JSON has it."""
    return reference_dict(one) if isinstance(one, LearnedReference) else example_dict(one)


def print_references(references: Iterable[LearnedReference]) -> None:
    """Print what descriptions mean."""
    rows = [(one.id, one.text, one.antecedent, one.by) for one in references]
    print_table(("learned", "description", "means", "by"), rows)


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
