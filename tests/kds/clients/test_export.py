"""`kds export`: what is written, and what is left alone."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from kds.clients.generated import digest_in, digest_of
from kds.router.prompts.library import PromptLibrary

NAME = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")
AGENT = """---
name: {name}
description: {description}
intent: {intent}
inputs: [message, session_id, context]
examples: [draw a logo, draw an icon]
---
# Artist

{{{{ message }}}} {{{{ session_id.upper() }}}} {{{{ context[0].intent.lower() }}}}
"""

Call = Callable[..., Any]


def _front(path: Path) -> dict[str, Any]:
    _, front, _ = path.read_text(encoding="utf-8").split("---\n", 2)
    found = yaml.safe_load(front)
    assert isinstance(found, dict)
    return found


def _agent(workspace: Path, name: str, description: str = "Draws.", intent: str = "DRAW") -> Path:
    path = workspace / "prompts" / "internal" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AGENT.format(name=name, description=json.dumps(description), intent=intent))
    return path


CLAUDES_OWN = "disable-model-invocation"
"""Beyond the specification: Claude Code leaves calling such a skill to the user."""


@pytest.mark.parametrize("client", [(), ("--client", "claude")], ids=["all", "claude"])
def test_the_reference_validator_accepts_every_skill(
    workspace: Path, kds_call: Call, client: tuple[str, ...]
) -> None:
    kds_call("export", "skills", "--to", "out", *client)
    agents = [agent.name for agent in PromptLibrary.load().agents() if agent.intent != "UNKNOWN"]
    folders = sorted(Path("out").iterdir())
    names = [folder.name for folder in folders]
    assert names == sorted(["kds", *(f"kds-{name}" for name in agents)])
    for folder in folders:
        front = _front(folder / "SKILL.md")
        assert "Use it" in front["description"]
        assert front["metadata"]["generator"] == "kds"
        assert client or set(front) <= {"name", "description", "metadata"}
        fields, _ = parse_frontmatter((folder / "SKILL.md").read_text(encoding="utf-8"))
        beyond = {CLAUDES_OWN} & set(fields) if client else set()
        wrong = validate_metadata(
            {key: value for key, value in fields.items() if key not in beyond}, folder
        )
        assert wrong == []
        assert isinstance(fields.get("allowed-tools", ""), str)


def test_a_skill_is_static_text_that_tells_where_to_look(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "skills", "--to", "out")
    for path in Path("out").rglob("SKILL.md"):
        text = path.read_text(encoding="utf-8")
        assert "{{" not in text
        assert "{%" not in text
        assert "FAB" not in text
        assert len(text.splitlines()) < 500
    door = Path("out/kds/SKILL.md").read_text(encoding="utf-8")
    assert "`route_message`" in door
    assert "`kds route --json`" in door
    assert "- kds-work-planner (PLAN):" in door
    assert "The message of the user" in Path("out/kds-work-planner/SKILL.md").read_text()


def test_claude_leaves_what_needs_a_confirmation_to_the_user(
    workspace: Path, kds_call: Call
) -> None:
    kds_call("export", "skills", "--to", "out", "--client", "claude")
    marked = [
        path.parent.name
        for path in Path("out").rglob("SKILL.md")
        if _front(path).get("disable-model-invocation")
    ]
    assert sorted(marked) == ["kds-brain-amnesia", "kds-commit-handler"]
    assert "mcp__kds__route_message" in _front(Path("out/kds/SKILL.md"))["allowed-tools"]


def test_long_names_and_descriptions_are_cut_to_the_limits(workspace: Path, kds_call: Call) -> None:
    _agent(workspace, "a" * 60 + "-bcd", description="word " * 200)
    kds_call("export", "skills", "--to", "out")
    (path,) = Path("out").glob("kds-aaa*/SKILL.md")
    assert len(path.parent.name) <= 64
    assert NAME.match(path.parent.name)
    description = _front(path)["description"]
    assert len(description) <= 1024
    assert "... Use it when" in description


@pytest.mark.parametrize("kind", ["skills", "prompts", "agents", "plugin"])
def test_a_second_export_changes_nothing(workspace: Path, kds_call: Call, kind: str) -> None:
    first = json.loads(kds_call("export", kind, "--to", "out", "--json").out)
    times = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    again = json.loads(kds_call("export", kind, "--to", "out", "--json").out)
    assert {file["action"] for file in first["files"]} == {"write"}
    assert {file["state"] for file in again["files"]} == {"current"}
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_dry_run_tells_when_a_real_one_would_be_refused(workspace: Path, kds_call: Call) -> None:
    Path("out/kds").mkdir(parents=True)
    Path("out/kds/SKILL.md").write_text("mine")
    shown = kds_call("export", "skills", "--to", "out", "--dry-run")
    assert shown.code == 0
    assert "keep       out/kds/SKILL.md (foreign)" in shown.out
    assert shown.out.endswith("and without it neither, as 1 file is in the way\n")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: "mine", "was not written by KDS"),
        (lambda text: text + "More.\n", "was generated by KDS and changed by hand since"),
        (lambda text: text.replace("kds-digest: sha-", "digest: "), "was not written by KDS"),
    ],
)
def test_files_of_others_and_edited_ones_stay_unless_forced(
    workspace: Path, kds_call: Call, change: Callable[[str], str], reason: str
) -> None:
    path = Path("out/kds/SKILL.md")
    kds_call("export", "skills", "--to", "out")
    original = path.read_text()
    path.write_text(change(original))
    Path("out/kds-work-planner/SKILL.md").unlink()
    refused = kds_call("export", "skills", "--to", "out")
    assert refused.code == 2
    assert f"{path}: {reason}" in refused.err
    assert path.read_text() == change(original)
    assert not Path("out/kds-work-planner/SKILL.md").exists(), "all or nothing"
    assert kds_call("export", "skills", "--to", "out", "--force").code == 0
    assert path.read_text() == original


def test_an_untouched_older_file_is_replaced_and_line_ends_do_not_matter(
    workspace: Path, kds_call: Call
) -> None:
    path = Path("out/kds/SKILL.md")
    kds_call("export", "skills", "--to", "out")
    text = path.read_text()
    older = text.replace("generator-version: ", "generator-version: 0.0.")
    older = older.replace(digest_in(older) or "", digest_of(older))
    path.write_bytes(older.replace("\n", "\r\n").encode())
    assert kds_call("export", "skills", "--to", "out").code == 0
    assert path.read_bytes() == text.encode()


def test_what_has_no_prompt_any_more_goes_if_it_is_untouched(
    workspace: Path, kds_call: Call
) -> None:
    prompt = _agent(workspace, "artist")
    kept = _agent(workspace, "painter", intent="PAINT")
    kds_call("export", "skills", "--to", "out")
    Path("out/kds-painter/SKILL.md").write_text(
        Path("out/kds-painter/SKILL.md").read_text() + "mine"
    )
    Path("out/other").mkdir()
    Path("out/other/SKILL.md").write_text("---\nname: other\n---\n")
    prompt.unlink()
    kept.unlink()
    done = kds_call("export", "skills", "--to", "out")
    assert done.code == 0
    assert not Path("out/kds-artist").exists()
    assert Path("out/kds-painter/SKILL.md").exists(), "changed by hand"
    assert Path("out/other/SKILL.md").exists()


def test_prompt_files_ask_for_the_message(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "prompts", "--to", "out")
    path = Path("out/kds-code-executor.prompt.md")
    assert _front(path)["agent"] == "agent"
    assert "${input:message:" in path.read_text()
    assert path.read_text().rstrip().endswith("-->")


def test_agents_hand_over_to_agents_that_exist(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "agents", "--to", "out")
    names = {_front(path)["name"] for path in Path("out").glob("*.agent.md")}
    handoffs = {
        front["name"]: [handoff["agent"] for handoff in front.get("handoffs", ())]
        for front in map(_front, Path("out").glob("*.agent.md"))
    }
    assert handoffs["kds-work-planner"] == ["kds-code-executor", "kds-test-generator"]
    assert set(handoffs["kds"]) == names - {"kds"}
    assert {agent for each in handoffs.values() for agent in each} <= names
    assert "handoffs" not in _front(Path("out/kds-brain-amnesia.agent.md"))


def test_kinds_in_one_folder_leave_each_other_alone(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "agents", "--to", "out")
    kds_call("export", "prompts", "--to", "out")
    kds_call("export", "prompts", "--to", "out", "--client", "cursor")
    assert len(list(Path("out").glob("*.md"))) == 42


def test_a_plugin_has_what_claude_code_looks_for(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "plugin", "--to", "out")
    read = {path: json.loads(Path("out", path).read_text()) for path in (
        ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "hooks/hooks.json",
        ".mcp.json")}  # fmt: skip
    assert NAME.match(read[".claude-plugin/plugin.json"]["name"])
    (entry,) = read[".claude-plugin/marketplace.json"]["plugins"]
    assert (entry["name"], entry["source"]) == ("kds", "./")
    assert set(read["hooks/hooks.json"]["hooks"]) == {"UserPromptSubmit", "SessionStart"}
    assert read[".mcp.json"]["mcpServers"]["kds"]["args"] == ["mcp"]
    assert [path.name for path in Path("out/skills").iterdir()] == ["kds"]


def test_gemini_gets_an_extension(workspace: Path, kds_call: Call) -> None:
    kds_call("export", "plugin", "--to", "out", "--client", "gemini")
    manifest = json.loads(Path("out/gemini-extension.json").read_text())
    assert (manifest["name"], list(manifest["mcpServers"])) == ("kds", ["kds"])
    assert "BeforeAgent" in json.loads(Path("out/hooks/hooks.json").read_text())["hooks"]
    assert Path("out/skills/kds/SKILL.md").exists()
    assert not Path("out/.claude-plugin/plugin.json").exists()


def test_a_json_file_of_a_plugin_carries_no_mark_and_stays_unless_forced(
    workspace: Path, kds_call: Call
) -> None:
    kds_call("export", "plugin", "--to", "out")
    hooks = Path("out/hooks/hooks.json")
    current = hooks.read_text()
    hooks.write_text("{}\n")
    assert kds_call("export", "plugin", "--to", "out").code == 2
    assert hooks.read_text() == "{}\n"
    assert kds_call("export", "plugin", "--to", "out", "--force").code == 0
    assert hooks.read_text() == current


def test_a_prompt_that_cannot_be_static_is_named(workspace: Path, kds_call: Call) -> None:
    path = _agent(workspace, "artist")
    path.write_text(path.read_text().replace("{{ message }}", "{{ message[4][0]['x'] }}"))
    refused = kds_call("export", "skills", "--to", "out")
    assert refused.code == 2
    assert "artist.md" in refused.err
    assert not Path("out").exists()


def test_what_cannot_be_read_or_written_is_refused(workspace: Path, kds_call: Call) -> None:
    Path("out/kds/SKILL.md").mkdir(parents=True)
    refused = kds_call("export", "skills", "--to", "out")
    assert refused.code == 2
    assert "is not an ordinary file" in refused.err
    Path("file").write_text("")
    assert kds_call("export", "skills", "--to", "file").code == 2


@pytest.mark.parametrize("link", ["out", "out/kds", "out/kds/SKILL.md", "made", "made/out/kds"])
@pytest.mark.parametrize("option", [(), ("--force",), ("--dry-run",)])
def test_an_export_does_not_write_through_a_link(
    workspace: Path, kds_call: Call, tmp_path: Path, link: str, option: tuple[str, ...]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "SKILL.md" if link.endswith(".md") else elsewhere
    if target.suffix:
        target.write_text("mine")
    Path(link).parent.mkdir(parents=True, exist_ok=True)
    Path(link).symlink_to(target)
    before = [(path, path.read_text()) for path in elsewhere.iterdir()]
    to = "made/out" if link.startswith("made") else "out"
    refused = kds_call("export", "skills", "--to", to, *option)
    assert refused.code == 2
    assert f"{workspace / link}: is a link" in refused.err
    assert [(path, path.read_text()) for path in elsewhere.iterdir()] == before


def test_an_export_may_go_to_a_folder_of_the_user_behind_a_link_above_it(
    workspace: Path, kds_call: Call, tmp_path: Path
) -> None:
    (tmp_path / "disk" / "work").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert kds_call("export", "skills", "--to", str(tmp_path / "link" / "work")).code == 0
    assert (tmp_path / "disk" / "work" / "kds" / "SKILL.md").exists()
