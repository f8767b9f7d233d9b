"""`kds skills`: what there is, what fits, what to mend, and cases as tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kds.activation.uses import Uses
from kds.brain.workspace import Workspace
from kds.cli.main import app

from .conftest import Write

NOTES = (
    "Write release notes from merged pull requests. Use when a version is about to be published."
)


@pytest.fixture(autouse=True)
def skills(home: Path, write: Write) -> None:
    write(".claude/skills/release-notes/SKILL.md", NOTES)
    told = "Create and check database migrations when a table or a column changes."
    write(".claude/skills/db-migration/SKILL.md", told)


def kds(project: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["skills", *words, "-w", str(project)], standalone_mode=False)


def test_list_names_each_entry_with_its_client_and_the_cost_of_the_listing(project: Path) -> None:
    told = json.loads(kds(project, "--json").stdout)
    assert [(one["client"], one["name"]) for one in told["entries"]] == [
        ("claude", "db-migration"),
        ("claude", "release-notes"),
    ]
    assert 30 < told["listing_tokens"]["claude"] < 80
    assert told["listing_tokens"]["copilot"] == told["listing_tokens"]["claude"]  # it reads them
    assert ".claude/skills/db-migration/SKILL.md" in kds(project).stdout
    assert kds(project, "--client", "codex").stdout.startswith("no skill")
    assert "'clod' is not one of" in str(kds(project, "--client", "clod").exception)


def test_explain_says_what_fits_and_why(project: Path, write: Write) -> None:
    told = json.loads(kds(project, "explain", "write the release notes for 2.4", "--json").stdout)
    assert told["choice"] == "release-notes"
    assert told["ranked"][0][0] == "release-notes"
    assert told["why"]["named"] == 1.0
    assert "release-notes" in kds(project, "explain", "write the release notes").stdout
    Uses(Workspace.find(project)).add("tell the world", "release-notes", "used")
    assert "use_said" in kds(project, "explain", "tell the world", "--json").stdout
    settings = "activation: {learn: false, precision: 1, enabled: false}\n"
    write("kds-brain/settings.yaml", text=settings)
    ended = kds(project, "explain", "write the release notes for 2.4", "--json")
    assert json.loads(ended.stdout)["choice"] is None
    assert "use_said" not in kds(project, "explain", "tell the world", "--json").stdout
    assert "activation.enabled is off" in ended.stderr


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("don't write the release notes for 2.4", "the prompt refuses it, or puts it off"),
        ("make the button purple", "less probable than 0."),
        ("fix the typo: write the release notes for 2.4", "the prompt is about a typo"),
    ],
)
def test_explain_says_why_nothing_is_said(project: Path, prompt: str, reason: str) -> None:
    assert f"nothing: {reason}" in kds(project, "explain", prompt).stdout
    assert json.loads(kds(project, "explain", prompt, "--json").stdout)["silent"].startswith(reason)


def test_explain_reads_the_reply_and_knows_commands(project: Path) -> None:
    offer = "Tagged 2.4. Shall I write the release notes?"
    ended = kds(project, "explain", "yes", "--reply", offer, "--json")
    assert json.loads(ended.stdout)["choice"] == "release-notes"
    assert "a command of the client" in kds(project, "explain", "/release-notes 2.4").stderr


def test_check_finds_duplicates_and_what_says_little(project: Path, write: Write) -> None:
    assert kds(project, "check").return_value == 0
    write(".claude/skills/notes/SKILL.md", NOTES)
    write(".claude/commands/ship.md", text="Ship.\n")
    write(".claude/agents/billing.md", "Knowledge of the billing database, its tables and history")
    ended = kds(project, "check", "--json")
    found = {(one["kind"], tuple(one["entries"])) for one in json.loads(ended.stdout)["findings"]}
    assert {
        ("same", ("notes", "release-notes")),
        ("short", ("ship",)),
        ("when", ("billing",)),
    } <= found
    assert ended.return_value == 1
    annotated = kds(project, "check", "--github").stdout
    assert "::warning file=.claude/commands/ship.md::" in annotated


def test_check_finds_descriptions_above_the_limit_of_a_client(project: Path, write: Write) -> None:
    for client, characters in (("claude", 1300), ("codex", 1300), ("gemini", 900)):
        text = f"{NOTES} Of {client}. " + " ".join(f"word{at}" for at in range(characters))
        write(f".{client}/skills/notes-{client}/SKILL.md", text[:characters])
    write(".claude/skills/long/SKILL.md", f"{NOTES} {'lorem ' * 300}")
    found = json.loads(kds(project, "check", "--json").stdout)["findings"]
    long = {one["entries"][0] for one in found if one["kind"] == "long"}
    assert long == {"notes-codex", "long"}


def test_a_file_that_cannot_be_read_fails_the_check(project: Path, write: Write) -> None:
    broken = write(".claude/skills/broken/SKILL.md", "x", "name: '[broken'")
    ended = kds(project, "check")
    assert f"{broken}: invalid name '[broken': use letters" in ended.stdout
    assert (ended.return_value, ended.stderr.count("[broken")) == (1, 0)
    annotated = kds(project, "check", "--github").stdout
    assert "::warning file=.claude/skills/broken/SKILL.md::invalid name" in annotated


def test_cases_pass_or_say_what_was_said_instead(project: Path, write: Write) -> None:
    cases = write(
        "cases.yaml",
        text="- {prompt: write the release notes for 2.4, expect: release-notes}\n"
        "- {prompt: make it purple, expect: null}\n"
        "- prompt: yes please\n  expect: [release-notes]\n"
        "  history: [{user: tag 2.4, assistant: Tagged.}]\n",
    )
    ended = kds(project, "test", str(cases))
    assert ended.return_value == 1
    assert "cases.yaml:3" in ended.stdout
    assert "expected release-notes, said nothing" in ended.stdout
    assert ended.stdout.rstrip().endswith("2 passed, 1 failed")


def test_pytest_collects_files_of_cases(project: Path, write: Write) -> None:
    cases = write(
        "tests/release.skills.yaml",
        text="- {prompt: write the release notes for 2.4, expect: release-notes}\n"
        "- {prompt: make it purple, expect: release-notes}\n",
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(cases)],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in ran.stdout
    assert "release.skills.yaml:2" in ran.stdout
    assert "expected release-notes, said nothing" in ran.stdout


def test_a_case_that_names_no_entry_is_an_error_with_its_line(project: Path, write: Write) -> None:
    text = "- {prompt: ship it, expect: null}\n- {prompt: ship it, expect: shp}\n"
    cases = write("cases.yaml", text=text)
    error = kds(project, "test", str(cases)).exception
    assert "cases.yaml:2: no skill, agent or command 'shp'" in str(error)
    assert "kds skills shows what there is" in str(error)
