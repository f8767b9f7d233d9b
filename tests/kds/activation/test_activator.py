"""What fits a prompt: from a list of entries, and from the files of a project and its user."""

from pathlib import Path

import pytest
import yaml

from kds.activation import Activator
from kds.activation.discovery import EntryError
from kds.brain.turn import Utterance

LIBRARY = yaml.safe_load(Path(__file__).with_name("library.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def activator() -> Activator:
    return Activator.from_entries(LIBRARY["entries"])


@pytest.mark.parametrize(("prompt", "best"), LIBRARY["best"])
def test_the_entry_that_fits_is_ranked_first(activator: Activator, prompt: str, best: str) -> None:
    assert activator.suggest(prompt).ranked[0][0] == best


@pytest.mark.parametrize("prompt", LIBRARY["silent"])
def test_nothing_is_said_where_nothing_is_wanted(activator: Activator, prompt: str) -> None:
    assert activator.suggest(prompt).choice is None


def test_a_yes_is_read_with_the_offer_of_the_reply(activator: Activator) -> None:
    offer = Utterance("The version is tagged. Shall I write the release notes now?", "assistant")
    history = (Utterance("tag 2.4"), offer)
    assert activator.suggest("yes please", history).ranked[0][0] == "release-notes"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "skill"}, "entry 1: an entry without a name"),
        ({"name": "x", "kind": "tool"}, "entry 1 (x): unknown kind 'tool'"),
        ({"name": "x", "description": 3}, "entry 1 (x): 'description' is not text"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_number(entry: dict[str, object], said: str) -> None:
    with pytest.raises(EntryError) as raised:
        Activator.from_entries([entry])
    assert str(raised.value).startswith(said)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def skill(name: str, description: str, *more: str) -> str:
    return "\n".join(["---", f"name: {name}", f"description: {description}", *more, "---", "Body."])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "kds-brain").mkdir(parents=True)
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_every_client_s_entries_are_found(project: Path, home: Path) -> None:
    write(project / ".claude/skills/notes/SKILL.md", skill("notes", "Release notes: write them"))
    write(project / ".claude/commands/db/migrate.md", "Migrate the database.\n")
    write(project / ".github/prompts/review.prompt.md", "---\ndescription: Review it\n---\nGo.")
    write(project / ".github/agents/tester.agent.md", "---\ndescription: Tests\n---\nGo.")
    write(project / ".gemini/commands/ship.toml", 'description = "Ship"\nprompt = "Do it"\n')
    write(project / ".opencode/agent/helper.md", "---\ndescription: Helps\n---\nGo.")
    write(project / ".agents/skills/lint/SKILL.md", skill("lint", "Lint the code"))
    write(home / ".codex/prompts/fix.md", "Fix the build.\n")
    write(
        home / ".claude/plugins/cache/market/tools/1.0/skills/pdf/SKILL.md",
        skill("pdf", "Read PDF"),
    )
    found = {(e.client, e.kind, e.name) for e in Activator.open(project, home=home).entries}
    assert found == {
        ("claude", "skill", "notes"),
        ("claude", "command", "db:migrate"),
        ("copilot", "prompt", "review"),
        ("copilot", "agent", "tester"),
        ("gemini", "command", "ship"),
        ("opencode", "agent", "helper"),
        ("agents", "skill", "lint"),
        ("codex", "prompt", "fix"),
        ("claude", "skill", "tools:pdf"),
    }


def test_a_client_is_told_of_what_it_reads_only(project: Path, home: Path) -> None:
    write(project / ".claude/skills/notes/SKILL.md", skill("notes", "Write notes"))
    write(project / ".agents/skills/lint/SKILL.md", skill("lint", "Lint the code"))
    entries = Activator.open(project, home=home, client="codex").entries
    assert [entry.name for entry in entries] == ["lint"]


def test_changes_are_followed(project: Path, home: Path) -> None:
    path = project / ".claude/skills/notes/SKILL.md"
    activator = Activator.open(project, home=home)
    assert activator.suggest("write the notes").ranked == ()
    write(path, skill("notes", "Write release notes"))
    assert activator.suggest("write the notes").ranked[0][0] == "notes"
    path.unlink()
    assert activator.suggest("write the notes").ranked == ()


def test_what_only_the_user_may_start_is_ranked_and_never_said(project: Path, home: Path) -> None:
    text = "write the release notes for version 2.4"
    path = project / ".claude/skills/release-notes/SKILL.md"
    write(path, skill("release-notes", "Write the release notes of a version"))
    activator = Activator.open(project, home=home)
    assert activator.suggest(text).choice == "release-notes"
    line = "disable-model-invocation: true"
    write(path, skill("release-notes", "Write the release notes of a version", line))
    told = activator.suggest(text)
    assert (told.ranked[0][0], told.choice) == ("release-notes", None)


def test_an_entry_for_other_files_than_those_named_is_not_said(project: Path, home: Path) -> None:
    path = project / ".claude/skills/release-notes/SKILL.md"
    globs = "paths: ['docs/**/*.{md,rst}', CHANGES.*]"
    write(path, skill("release-notes", "Write the release notes", globs))
    activator = Activator.open(project, home=home)
    named = ("docs/2.4.md", "docs/a/b/2.4.rst", "2.4.md", "CHANGES.txt", "src/CHANGES.txt")
    others = ("src/app/main.py", "src/2.4.md", "docs/2.4.py")
    said = {
        file: activator.suggest(f"write the release notes in {file}").choice is not None
        for file in (*named, *others)
    }
    assert said == dict.fromkeys(named, True) | dict.fromkeys(others, False)


def test_copies_for_several_clients_count_once(project: Path, home: Path) -> None:
    text = "write the release notes for version 2.4"
    told = []
    for client in ("claude", "codex", "github"):
        path = project / f".{client}/skills/release-notes/SKILL.md"
        write(path, skill("release-notes", "Write the release notes of a version"))
        told.append(Activator.open(project, home=home).suggest(text).ranked)
    assert told[0] == told[1] == told[2]


def test_files_that_cannot_be_read_are_named_and_the_others_count(
    project: Path, home: Path
) -> None:
    write(project / ".gemini/commands/bad.toml", "description = \n")
    write(project / ".claude/skills/bad/SKILL.md", skill("a\x1b[31mb", "Coloured"))
    write(project / ".claude/skills/notes/SKILL.md", skill("notes", "Use this: when it rains"))
    activator = Activator.open(project, home=home)
    assert [(e.name, e.description) for e in activator.entries] == [
        ("notes", "Use this: when it rains")
    ]
    assert [problem.split(":")[0].rsplit("/", 1)[-1] for problem in activator.problems] == [
        "SKILL.md",
        "bad.toml",
    ]


def test_vectors_are_kept_private_and_damage_is_mended(project: Path, home: Path) -> None:
    write(project / ".claude/skills/notes/SKILL.md", skill("notes", "Write release notes"))
    first = Activator.open(project, home=home).suggest("write the notes").ranked
    kept = project / "kds-brain/cache/activation.npz"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(b"damaged")
    assert Activator.open(project, home=home).suggest("write the notes").ranked == first
    assert kept.read_bytes() != b"damaged"
