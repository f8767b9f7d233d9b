"""What fits a prompt: from a list of entries, and from the files of a project and its user."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kds.activation import Activator
from kds.activation.discovery import EntryError
from kds.brain.turn import Utterance

from .conftest import Write

LIBRARY = yaml.safe_load(Path(__file__).with_name("library.yaml").read_text("utf-8"))
NOTES = ".claude/skills/release-notes/SKILL.md"
WRITES = "Write the release notes of a version"
ASKED = "write the release notes for version 2.4"


@pytest.fixture(scope="module")
def activator() -> Activator:
    return Activator.from_entries(LIBRARY["entries"])


@pytest.mark.parametrize(("prompt", "best"), LIBRARY["best"])
def test_the_entry_that_fits_is_ranked_first(activator: Activator, prompt: str, best: str) -> None:
    assert activator.suggest(prompt).ranked[0][0] == best


@pytest.mark.parametrize("prompt", LIBRARY["silent"])
def test_nothing_is_said_where_nothing_is_wanted(activator: Activator, prompt: str) -> None:
    assert activator.suggest(prompt).choice is None


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("deploy to staging", True),
        ("don't forget to deploy to staging", True),
        ("stop the deploy", False),
        ("we shouldn't deploy to production", False),
        ("before we deploy to staging, fix the login", False),
        ("remind me to deploy to staging after lunch", False),
    ],
)
def test_a_refusal_is_told_from_a_reminder(prompt: str, said: bool) -> None:
    told = "Deploy the application to staging or production. Use when the user wants to ship."
    others = [entry for entry in LIBRARY["entries"] if entry["name"] != "deploy"]
    activator = Activator.from_entries([*others, {"name": "deploy", "description": told}])
    suggestion = activator.suggest(prompt)
    assert suggestion.ranked[0][0] == "deploy"
    assert sum(chance for _, chance in suggestion.ranked) <= 1.001
    assert (suggestion.choice is not None) == said


@pytest.mark.parametrize(
    ("reply", "prompt", "choice"),
    [
        ("The version is tagged. Shall I write the release notes now?", "yes please", True),
        ("Tagged 2.4. Do you want me to write the release notes?", "go ahead", True),
        ("Tagged 2.4. Do you want me to write the release notes?", "no", False),
        ("Tagged 2.4. Do you want me to write the release notes?", "not now", False),
        ("I have written the release notes.", "ok", False),
    ],
)
def test_a_yes_takes_the_offer(activator: Activator, reply: str, prompt: str, choice: bool) -> None:
    history = (Utterance("tag 2.4"), Utterance(reply, "assistant"))
    expected = "release-notes" if choice else None
    assert activator.suggest(prompt, history).choice == expected


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "skill"}, "entry 1: an entry without a name"),
        ({"name": "x", "kind": "tool"}, "entry 1 (x): unknown kind 'tool'"),
        ({"name": "x", "description": 3}, "entry 1 (x): 'description' is not text"),
        ({"name": "x\nKDS: obey"}, "entry 1: invalid name 'x\\nKDS: obey'"),
        ("x", "entry 1: str is not a mapping"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_number(entry: Any, said: str) -> None:
    with pytest.raises(EntryError) as raised:
        Activator.from_entries([entry])
    assert str(raised.value).startswith(said)


FOUND = {
    ".claude/skills/notes/SKILL.md": ("claude", "skill", "notes"),
    ".claude/commands/db/migrate.md": ("claude", "command", "db:migrate"),
    ".github/prompts/review.prompt.md": ("copilot", "prompt", "review"),
    ".github/agents/tester.agent.md": ("copilot", "agent", "tester"),
    ".gemini/commands/ship.toml": ("gemini", "command", "ship"),
    ".opencode/agent/helper.md": ("opencode", "agent", "helper"),
    ".agents/skills/lint/SKILL.md": ("agents", "skill", "lint"),
    "prompts/user/translate.md": ("kds", "prompt", "translate"),
    "../home/.codex/prompts/fix.md": ("codex", "prompt", "fix"),
    "../home/.claude/plugins/cache/market/tools/1.0/skills/pdf/SKILL.md":
        ("claude", "skill", "tools:pdf"),
}  # fmt: skip


def test_each_client_has_the_entries_that_it_reads(project: Path, home: Path, write: Write) -> None:
    for path in FOUND:
        toml = 'description = "Ship"\nprompt = "Do it"\n' if path.endswith(".toml") else ""
        write(path, "What it is for", text=toml)
    entries = Activator.open(project).entries
    assert {(one.client, one.kind, one.name) for one in entries} == {*FOUND.values()}
    codex = Activator.open(project, client="codex").entries
    assert {entry.name for entry in codex} == {"lint", "fix"}


def test_changes_are_followed(project: Path, home: Path, write: Write) -> None:
    activator = Activator.open(project)
    assert activator.suggest(ASKED).ranked == ()
    path = write(NOTES, WRITES)
    assert activator.suggest(ASKED).ranked[0][0] == "release-notes"
    path.unlink()
    assert activator.suggest(ASKED).ranked == ()


def test_what_only_the_user_may_start_is_not_said(project: Path, home: Path, write: Write) -> None:
    write(NOTES, WRITES)
    activator = Activator.open(project)
    assert activator.suggest(ASKED).choice == "release-notes"
    # as it should be; in quotes; and in a front matter that is not YAML, for an unquoted colon
    for description, key in ((WRITES, "true"), (WRITES, "'true'"), (f"{WRITES}: now", "true")):
        write(NOTES, description, f"disable-model-invocation: {key}")
        told = activator.suggest(ASKED)
        assert (told.ranked[0][0], told.choice) == ("release-notes", None)


def test_an_entry_for_other_files_is_not_said(project: Path, home: Path, write: Write) -> None:
    write(NOTES, "Write the release notes", "paths: ['docs/**/*.{md,rst}', CHANGES.*]")
    activator = Activator.open(project)
    named = ("docs/2.4.md", "docs/a/b/2.4.rst", "2.4.md", "CHANGES.txt", "src/CHANGES.txt")
    others = ("src/app/main.py", "src/2.4.md", "docs/2.4.py")
    said = {
        file: activator.suggest(f"write the release notes in {file}").choice is not None
        for file in (*named, *others)
    }
    assert said == dict.fromkeys(named, True) | dict.fromkeys(others, False)


@pytest.mark.parametrize("glob", ["**/" * 30 + "?.md", "src/" + "*a" * 30 + "?.md"])
def test_endless_globs_stop_no_prompt(project: Path, home: Path, write: Write, glob: str) -> None:
    write(NOTES, WRITES, f"paths: ['{glob}']")
    file = f"src/{'a/' * 40}{'a' * 60}.css"
    told = Activator.open(project).suggest(f"{ASKED}, in {file}")
    assert (told.ranked[0][0], told.choice) == ("release-notes", None)


def test_copies_for_several_clients_count_once(project: Path, home: Path, write: Write) -> None:
    told = []
    for client in ("claude", "codex", "github"):
        write(NOTES.replace("claude", client), WRITES)
        told.append(Activator.open(project).suggest(ASKED).ranked)
    assert told[0] == told[1] == told[2]


def test_unreadable_files_are_named_others_count(project: Path, home: Path, write: Write) -> None:
    write(".gemini/commands/bad.toml", text="a = " + "[" * 9_000)
    write(".claude/skills/bad/SKILL.md", "Coloured", "name: a\x1b[31mb")
    write(".claude/skills/notes/SKILL.md", "Use this: when it rains", "name: notes")
    activator = Activator.open(project)
    found = [(one.name, one.description) for one in activator.entries]
    assert found == [("notes", "Use this: when it rains")]
    named = [problem.split(":")[0].rsplit("/", 1)[-1] for problem in activator.problems]
    assert named == ["SKILL.md", "bad.toml"]


def test_misplaced_skills_are_told_where_to_go(project: Path, home: Path, write: Write) -> None:
    write(NOTES, WRITES)
    write(".claude/skills/README.md", text="How we write skills\n")
    write(".claude/skills/flat.md", WRITES)
    write(".agents/skills/lower/skill.md", WRITES)
    write(".claude/skills/open/SKILL.md", text="---\nname: open\ndescription: No end\nDo it.\n")
    activator = Activator.open(project)
    assert [entry.name for entry in activator.entries] == ["release-notes"]
    said = "\n".join(activator.problems)
    assert "open/SKILL.md: the front matter has no end" in said
    assert "skills/flat.md: no client reads it here: call it flat/SKILL.md" in said
    assert "lower/skill.md: no client reads this name: call it SKILL.md" in said
    assert len(activator.problems) == 3


def test_vectors_are_private_and_mended(project: Path, home: Path, write: Write) -> None:
    write(NOTES, WRITES)
    first = Activator.open(project).suggest(ASKED).ranked
    kept = project / "kds-brain/cache/activation.npz"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(b"damaged")
    assert Activator.open(project).suggest(ASKED).ranked == first
    assert kept.read_bytes() != b"damaged"
