"""What the hook is worth: how often it speaks on real chats, whether rightly, and at what cost.

    python benchmarks/hook_value.py ../shared/data/chats/dev.jsonl
    python benchmarks/hook_value.py CHATS --clients build/clients --write docs/clients-tested.md

CHATS is a file of labelled chats (docs/evaluation.md); each is played as the hook sees it, with the
assistant's replies known. A line is right when every word in it that it explains is explained as
labelled. With --clients, a folder with `node_modules`, each real client that is there sends
two messages to a fake model on loopback: without KDS, with what `kds init` writes by default, and
with `--skills`. What differs in all that a request holds (system prompt, tools, messages) is what
KDS adds. --write puts the tables between the marks of that page. Tokens are taken to be four
characters of English each; no tokenizer of a vendor is at hand offline.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from common import options, write_between

from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.hooks.prompt import is_for_routing
from kds.hooks.reply import hook_hint
from kds.testing.chats import PlayedChatTurn, play_with, read_chats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the fake model is a test's

from tests.clients.clients import CLIENTS, Client
from tests.clients.dialects import strings
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
        if tokens:
            yield "tokens of a line, mean and most", f"{mean(tokens):.0f}, {max(tokens):.0f}"
        yield "tokens a turn", f"{sum(tokens) / self.prompts:.3f}"


@dataclass(frozen=True)
class Arm:
    """What a client's model read: of each message, and in each request as a whole."""

    texts: list[str]
    sizes: list[int]
    """Characters of every string in a request."""

    def added(self, other: "Arm") -> tuple[int, int]:
        """How many tokens more than in ``other``: in the first request, and with message 2."""
        more = max(0, self.sizes[0] - other.sizes[0])
        second = max(0, len(self.texts[1]) - len(other.texts[1]))
        return round(more / CHARS_PER_TOKEN), round(second / CHARS_PER_TOKEN)


def main() -> None:
    """Measure, print, and write the page."""
    parser = options(__doc__)
    parser.add_argument("chats", type=Path)
    parser.add_argument("--clients", type=Path, help="a folder with node_modules")
    parser.add_argument("--write", type=Path, help="the page with the marks")
    given = parser.parse_args()
    parts = [_table(("on real chats", ""), _lines(_played(given.chats)).rows())]
    if given.clients:
        head = ("client", "version", "tokens a request, by default", "with `--skills`",
                "tokens of the hint", "the hint arrived")  # fmt: skip
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
            bare, version = _arm(programs, name, None)
            hooked, _ = _arm(programs, name, ())
            skilled, _ = _arm(programs, name, ("--skills",))
            each, hint = hooked.added(bare)
            arrived = ['KDS: "' in text for text in hooked.texts]
            wrong = any('KDS: "' in text for text in bare.texts) or arrived[0]
            said = "no" if wrong or not arrived[1] else "with message 2 alone"
            yield name, version, str(each), str(each + skilled.added(hooked)[0]), str(hint), said


def _arm(programs: Path, name: str, wished: Sequence[str] | None) -> tuple[Arm, str]:
    """Send the messages in one session, and keep what the model read of each.

    ``wished`` are the options of `kds init`; None: without KDS.
    """
    with tempfile.TemporaryDirectory() as folder, serving(FakeModel()) as model:
        project, path = Path(folder, "shop"), Path(folder, "bin")
        (project / "kds-brain").mkdir(parents=True, mode=0o700)
        path.mkdir()
        for program in ("kds", "kds-hook"):
            (path / program).symlink_to(PROGRAMS / program)
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        client = CLIENTS[name](programs, Path(folder, "state"), project, model)
        client.trust()
        try:
            if wished is not None:
                _kds(project, path, "service", "start")
                _kds(project, path, "init", "--client", name, *wished)
            _commit(project)  # clients show a model what git does not know
            for number, message in enumerate(MESSAGES):
                client.ask(message, carry_on=number > 0)
        finally:
            _kds(project, path, "service", "stop", "--force")
        sizes = [sum(map(len, strings(turn.body))) for turn in model.turns]
        return Arm([turn.newest for turn in model.turns], sizes), _version(client)


def _commit(project: Path) -> None:
    git = ("git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.com")
    for words in (("add", "-A"), ("commit", "-qm", "KDS", "--allow-empty")):
        subprocess.run([*git, *words], check=True, capture_output=True)


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
