"""What the hook is worth: how often it speaks on real chats, whether rightly, and at what cost.

    python benchmarks/hook_value.py ../shared/data/chats/dev.jsonl
    python benchmarks/hook_value.py CHATS --clients build/clients --write docs/clients-tested.md

CHATS is a file of labelled chats (docs/evaluation.md); each is played as the hook sees it, with the
assistant's replies known. A line is right when every word in it that it explains is explained as
labelled. With --clients, a folder with `node_modules`, each real client that is there sends
two messages to a fake model on loopback, with the hook and without: what differs is what the hook
adds. --write puts the tables between the marks of that page. Tokens are taken to be four
characters of English each; no tokenizer of a vendor is at hand offline.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from common import options, write_between

from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.evaluation.chats.chat_file import read_chats
from kds.evaluation.chats.playing import PlayedChatTurn, play_with
from kds.hooks.prompt import is_for_routing
from kds.service.hook.hook_reply import hook_hint

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the fake model is a test's

from tests.clients.clients import CLIENTS, Client
from tests.clients.model_server import FakeModel, serving

CHARS_PER_TOKEN = 4
MESSAGES = ("I want to add a FAB button", "Make it purple")
PROGRAMS = Path(sysconfig.get_path("scripts"))


@dataclass(frozen=True)
class Lines:
    """What the hook says on chats: all prompts, the lines, and those that can be judged."""

    prompts: int
    lines: list[str]
    judged: int
    right: int

    def rows(self) -> Iterator[tuple[str, str]]:
        """The rows of the table."""
        share = len(self.lines) / self.prompts
        tokens = [len(line) / CHARS_PER_TOKEN for line in self.lines]
        yield "prompts", f"{self.prompts:,}"
        yield "prompts with a line", f"{len(self.lines)} ({share:.1%})"
        yield "lines that are right, of those on labelled turns", f"{self.right} of {self.judged}"
        yield "tokens of a line, mean and most", f"{mean(tokens):.0f}, {max(tokens):.0f}"
        yield "tokens a turn", f"{sum(tokens) / self.prompts:.3f}"


@dataclass(frozen=True)
class Arm:
    """What a client's model read of each message, with the hook or without."""

    texts: list[str]

    def added(self, other: "Arm") -> list[int]:
        """How many characters more than in ``other``."""
        return [
            len(ours) - len(theirs) for ours, theirs in zip(self.texts, other.texts, strict=True)
        ]


def main() -> None:
    """Measure, print, and write the page."""
    parser = options(__doc__)
    parser.add_argument("chats", type=Path)
    parser.add_argument("--clients", type=Path, help="a folder with node_modules")
    parser.add_argument("--write", type=Path, help="the page with the marks")
    given = parser.parse_args()
    parts = [_table(("on real chats", ""), _lines(_played(given.chats)).rows())]
    if given.clients:
        head = ("client", "version", "added to message 1", "to message 2", "the hint arrived")
        parts.append(_table(head, _compared(given.clients.resolve())))
    text = "\n".join(parts)
    print(text)  # a program of its own
    if given.write:
        write_between(given.write, "measured", f"\n{text}\n")


def _played(path: Path) -> Iterator[PlayedChatTurn]:
    with tempfile.TemporaryDirectory() as folder:
        router = Router.open(folder, log=False)
        router.rehearse(MinuteClock()).route(MESSAGES[0])
        for chat in read_chats(path):
            yield from play_with(chat, router.rehearse)


def _lines(played: Iterable[PlayedChatTurn]) -> Lines:
    prompts = judged = right = 0
    lines = []
    for one in played:
        prompts += 1
        line = hook_hint(one.turn) if is_for_routing(one.turn.message) else None
        if line is None:
            continue
        lines.append(line)
        judged += one.expected.labelled
        right += one.expected.labelled and not one.harmed
    return Lines(prompts, lines, judged, right)


def _compared(npm: Path) -> Iterator[tuple[str, ...]]:
    programs = npm / "node_modules" / ".bin"
    for name in CLIENTS:
        if (programs / name).exists():
            hooked, version = _arm(programs, name, hook=True)
            bare, _ = _arm(programs, name, hook=False)
            added = [f"{max(0, more)} characters" for more in hooked.added(bare)]
            arrived = ["KDS: " in text for text in hooked.texts]
            wrong = any("KDS: " in text for text in bare.texts) or arrived[0]
            yield name, version, *added, "no" if wrong or not arrived[1] else "with message 2 alone"


def _arm(programs: Path, name: str, *, hook: bool) -> tuple[Arm, str]:
    """Send the messages in one session, and keep what the model read of each."""
    with tempfile.TemporaryDirectory() as folder, serving(FakeModel()) as model:
        project, path = Path(folder, "shop"), Path(folder, "bin")
        (project / "kds-brain").mkdir(parents=True, mode=0o700)
        path.mkdir()
        for program in ("kds", "kds-hook"):
            (path / program).symlink_to(PROGRAMS / program)
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        client = CLIENTS[name](programs, Path(folder, "state"), project, model.url)
        client.trust()
        try:
            if hook:
                _kds(project, path, "service", "start")
                _kds(project, path, "init", "--client", name)
            for number, message in enumerate(MESSAGES):
                client.ask(message, carry_on=number > 0)
        finally:
            _kds(project, path, "service", "stop", "--force")
        return Arm([turn.newest for turn in model.turns]), _version(client)


def _version(client: Client) -> str:
    said = replace(client).run("--version").split()
    return next((word for word in said if word[:1].isdigit()), "?").rstrip(".")


def _kds(project: Path, path: Path, *arguments: str) -> None:
    environ = os.environ | {"PATH": f"{path}{os.pathsep}{os.defpath}"}
    command = [str(PROGRAMS / "kds"), *arguments, "--workspace", str(project)]
    subprocess.run(command, cwd=project, env=environ, check=True, capture_output=True)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
