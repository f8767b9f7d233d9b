"""Conversations with good rewrites and lies, from lying_rewrites.yaml."""

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
    return tuple(
        Case(
            said=tuple(
                Utterance(text, role) for turn in row["said"] for role, text in turn.items()
            ),
            message=row["message"],
            good=tuple(row["good"]),
            lies=tuple((kind, lie) for kind, texts in row["lies"].items() for lie in texts),
        )
        for row in yaml.safe_load(LIES.read_text(encoding="utf-8"))
    )
