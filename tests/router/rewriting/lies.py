"""Conversations with good rewrites and lies, from lying_rewrites.yaml."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from kds.brain.turn import Utterance
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.rewriting.checks import Told

LIES = Path(__file__).with_name("lying_rewrites.yaml")


@dataclass(frozen=True)
class Case:
    """A follow-up, and what may and what may not be made of it."""

    id: str
    said: tuple[Utterance, ...]
    message: str
    good: tuple[str, ...]
    lies: tuple[tuple[str, str], ...]
    """(kind, text)"""

    def told(self, resolver: Resolver) -> Told:
        """What the checks know, as the step tells them."""
        discourse = resolver.replay(self.said)
        resolution = resolver.resolve(self.message, discourse)
        return Told(
            message=self.message,
            expanded=apply_edits(self.message, resolution.edits),
            said=(
                *(said.text for said in self.said if said.role == "user"),
                *(moment.expanded for moment in discourse.moments),
            ),
            replies=tuple(said.text for said in self.said if said.role == "assistant"),
        )


def read_cases() -> tuple[Case, ...]:
    """Read the file."""
    return tuple(_cases(yaml.safe_load(LIES.read_text(encoding="utf-8"))))


def _cases(rows: list[dict[str, object]]) -> Iterator[Case]:
    for row in rows:
        lies = row["lies"]
        turns = row["said"]
        good = row["good"]
        assert isinstance(lies, dict)
        assert isinstance(turns, list)
        assert isinstance(good, list)
        yield Case(
            id=str(row["id"]),
            said=tuple(Utterance(text, role) for turn in turns for role, text in turn.items()),
            message=str(row["message"]),
            good=tuple(good),
            lies=tuple((kind, lie) for kind, texts in lies.items() for lie in texts),
        )
