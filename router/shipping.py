"""Makes what ships with the prompts and rules, so that no user waits for it: `make model`.

    python -m kds.router.shipping FOLDER

writes the needles of all patterns, then the intent model fitted on the packaged prompts. Tests
hold both against the files they were made from.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from kds.router.intents.model_cache import SHIPPED, ship_model
from kds.router.needle import NEEDLES
from kds.router.pattern import Pattern, write_needles
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import load_rules


def shipped_patterns(library: PromptLibrary) -> Iterator[Pattern]:
    """Every pattern of the packaged prompts and rules."""
    for prompt in library.prompts():
        yield from (one.pattern for one in (*prompt.patterns, *prompt.excludes, *prompt.needs))
    for rule in load_rules().rules:
        yield from (*rule.signal.cues, *rule.signal.unless)


def ship(folder: Path) -> None:
    """Write both files into ``folder``."""
    library = PromptLibrary.load()
    folder.mkdir(exist_ok=True)
    write_needles(shipped_patterns(library), folder / NEEDLES.name)
    ship_model(library.prompts(), folder / SHIPPED.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m kds.router.shipping",
        description="Write what ships fitted: needles and the intent model.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="made if need be")
    ship(parser.parse_args().folder)
