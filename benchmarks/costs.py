"""What small things cost that must stay cheap: CPU milliseconds, the median of many runs.

    python benchmarks/costs.py [--runs N] [--json]

No test asserts a time, since a busy machine changes it; tests assert what makes these cheap (what
is imported, compiled and read, how work grows with its input), and this script measures them.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from statistics import median

import docx
from common import cpu_ms, options, show

from kds.api.conversations import Conversations
from kds.brain.summaries.facts import facts_of
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.learning_log import LearningLog
from kds.readers.docx import read_docx
from kds.readers.html import read_html
from kds.router.language.analysis import Language
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.values import prompt_values
from kds.router.references.resolver import Resolver
from kds.router.references.ruleset import load_rules

RUNS = 20
LONG = 100_000
"""Characters of a hostile message, the most that a turn takes."""

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
_IMPORT = "import time; t = time.process_time(); import kds; print(time.process_time() - t)"

Case = tuple[str, Callable[[int], object]]
"""What it is, and what is done in each run, given the number of the run."""


def main() -> None:
    """Measure and print."""
    given = options(__doc__, "--json", runs=RUNS).parse_args()
    rows = {name: _median_ms(work, given.runs) for name, work in _cases()}
    rows["import kds"] = median(_import_ms() for _ in range(given.runs))
    show({name: round(ms, 4) for name, ms in rows.items()}, as_json=given.json)


def _cases() -> Iterator[Case]:
    yield from _prompts()
    yield from _learning()
    yield from _messages()
    yield from _documents()


def _prompts() -> Iterator[Case]:
    library = PromptLibrary.load()
    prompt = library.get("intent-router")
    values = prompt_values(Turn("Make it purple", AT), agents=library.agents(), workspace="/w")
    yield "rendering the longest prompt", lambda _: library.render(prompt, values)
    # one more letter each time: what is known of a pattern is kept
    yield "refusing a regex of 499 repeats", lambda run: _compiled("(?:a?b)*" * 499 + "x" * run)


def _compiled(source: str) -> object:
    return Pattern.compile(source, where="costs.py")


def _learning() -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="kds") as folder:
        log = LearningLog(Workspace.find(Path(folder)), PromptLibrary.load())
        turn = Turn("that should be blue, not green", AT)
        yield "looking for something to learn in a turn", lambda _: log.note(turn)
        here = Conversations.open(Workspace.find(Path(folder)))
        for name, message in (("brackets", "(" * LONG), ("spaces", "a" + " " * (LONG - 2) + "b")):
            yield f"a turn of 100 kB of {name}", lambda _, said=message: here.route(said, log=False)


def _messages() -> Iterator[Case]:
    rules = load_rules()
    language = Language(rules.entities)
    resolver = Resolver(language, rules.rules, rules.knowledge)
    for unit in ("(", "make it red. ", "the one "):
        text = (unit * LONG)[:LONG]
        yield f"analysing 100 kB of {unit!r}", lambda run, text=text: language.analyse(text[run:])
        yield (
            f"resolving 100 kB of {unit!r}",
            lambda run, text=text: resolver.resolve(text[run:], resolver.replay(("Add a map",))),
        )
    for unit in ("a@b.", "A ", "use "):
        text = (unit * LONG)[:LONG]
        yield f"facts of 100 kB of {unit!r}", lambda run, text=text: facts_of(text[run:])


def _documents() -> Iterator[Case]:
    data = BytesIO()
    document = docx.Document()
    for number in range(1000):
        document.add_paragraph(f"Some words {number}.")
    document.save(data)
    path = Path("costs.docx")
    yield "reading a .docx of 1000 paragraphs", lambda _: read_docx(data.getvalue(), "costs", path)
    for unit in ("<b>", "<ul><li>a", "<table><tr><td>a"):
        page = unit * 2000
        yield f"reading 2000 times {unit}", lambda _, page=page: read_html(page, "costs")


def _median_ms(work: Callable[[int], object], runs: int) -> float:
    work(0)
    return median(cpu_ms(lambda run=run: work(run)) for run in range(1, runs + 1))


def _import_ms() -> float:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True
    )
    return float(done.stdout) * 1000.0


if __name__ == "__main__":
    main()
