"""`kds help`, `status`, `config`, `logs`: what KDS is, here and now; files to begin with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.service.service_client import ServiceAddress

from ..conftest import BAD_INPUT, Run, begin_session, data

pytestmark = pytest.mark.usefixtures("workspace")

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings file, which is not there yet."""
    path = tmp_path / "own" / "settings.yaml"
    monkeypatch.setenv("KDS_CONFIG", str(path))
    return path


def test_every_page_of_the_documentation_can_be_read_offline(kds_call: Run) -> None:
    topics = kds_call("help", "topics").out
    for page in DOCS.glob("*.md"):
        assert kds_call("help", f"docs/{page.name}").out == page.read_text(encoding="utf-8")
        assert (page.name in topics) == (page.stem != "index")
    assert "kds help topics" in kds_call("help").out
    assert kds_call("help", "docs/models.md").out == kds_call("help", "models").out
    assert "More: kds help docs/memory.md" in kds_call("help", "memory").out


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="threads are counted in /proc")
def test_matrices_are_multiplied_in_one_thread() -> None:
    script = "import kds.cli, numpy; numpy.ones((600, 600)) @ numpy.ones((600, 600)); "
    script += "print(open('/proc/self/status').read())"
    environ = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert "Threads:\t1\n" in done.stdout


def test_config_says_where_values_come_from_and_keeps_comments_and_other_values(
    own: Path, workspace: Path, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_REFERENCES_PRECISION", "0.8")
    kds_call("config", "set", "service.idle_minutes", "5", "--own")
    kds_call("config", "set", "rewriting.mode", "model-first", "--own")
    kds_call("config", "set", "rewriting.mode", "rules-first")
    settings = data(kds_call("config", "--json"))
    assert settings["references.precision"] == {"value": 0.8, "from": "$KDS_REFERENCES_PRECISION"}
    assert settings["service.idle_minutes"] == {"value": 5.0, "from": f"{own}:2"}
    project = workspace / "kds-brain" / "settings.yaml"
    assert settings["rewriting.mode"] == {"value": "rules-first", "from": f"{project}:2"}
    assert settings["learning.enabled"]["from"] == "default"
    assert own.stat().st_mode & 0o777 == project.stat().st_mode & 0o777 == 0o600
    assert kds_call("config", "get", "service.idle_minutes").out == "5\n"
    assert "rewriting.mode" in kds_call("config").out
    own.write_text('# mine\nmodel:\n  name: "http://a/#b"  # the fast one\n  timeout_s: 9\n')
    kds_call("config", "set", "model.name", "http://c/#d", "--own")
    assert own.read_text() == (
        '# mine\nmodel:\n  name: "http://c/#d"  # the fast one\n  timeout_s: 9\n'
    )
    kds_call("config", "unset", "model.name", "--own")
    assert own.read_text() == "# mine\nmodel:\n  timeout_s: 9\n"
    kds_call("config", "unset", "model.timeout_s", "--own")
    assert own.read_text() == "# mine\n"
    assert load_settings(Workspace.find(workspace)).model.name is None


def test_status_says_what_there_is_and_makes_nothing(
    own: Path, workspace: Path, kds_call: Run
) -> None:
    (workspace / "kds-brain").rmdir()
    assert "nothing is kept yet" in kds_call("status").out
    assert not (workspace / "kds-brain").exists()
    kds_call("config", "set", "memory.enabled", "on")
    kds_call("config", "set", "model.name", "ollama:small", "--own")
    for message in ("Make it purple", "Make it wider"):
        kds_call("context", "log", "--message", message, "--intent", "EXECUTE")
    begin_session(workspace, "Dark mode")
    kds_call("init", "--client", "claude")
    found = data(kds_call("status", "--json"))
    assert found["workspace"] == {"root": str(workspace), "exists": True}
    assert (found["service"]["state"], found["model"]["name"]) == ("not running", "ollama:small")
    assert (found["memory"]["on"], bool(found["hooks"])) == (True, True)
    assert (found["counts"]["context"], found["counts"]["sessions"]) == (2, 1)
    assert "2 messages in the context, 1 session" in kds_call("status").out


def test_logs_show_the_newest_lines_of_hook_and_service(workspace: Path, kds_call: Run) -> None:
    assert kds_call("service", "logs").out == "nothing was written down\n"
    ServiceAddress().ensure()
    hook, own = workspace / "kds-brain" / "hook.log", ServiceAddress().log_path
    for log, text in ((hook, "09:00 no service\n09:02 late\n"), (own, "started\n  and a trace\n")):
        log.write_text(text)
        log.chmod(0o600)
    shown = data(kds_call("service", "logs", "-n", "1", "--json"))
    assert shown == {"hook": ["09:02 late"], "service": ["  and a trace"]}
    assert "started" in kds_call("service", "logs").out


def test_an_agent_is_shown_by_its_name_or_intent_and_a_new_one_passes_the_check(
    kds_call: Run, fitted_workspace: Path
) -> None:
    shown = kds_call("prompts", "show", "commit-handler").out
    assert kds_call("prompts", "show", "commit").out == shown
    card = data(kds_call("prompts", "show", "COMMIT", "--json"))
    assert (card["confirm"], card["handoffs"]) == (True, ["EXECUTE"])
    assert (card["name"], bool(card["patterns"])) == ("commit-handler", True)
    assert Path(card["path"]).is_file()
    assert "did you mean COMMIT?" in kds_call("prompts", "show", "COMIT").err
    path = Path(kds_call("prompts", "new", "deploy-runner").out.splitlines()[0])
    assert path == fitted_workspace / "prompts" / "internal" / "deploy-runner.md"
    agents = data(kds_call("prompts", "list", "--json"))
    assert {"DEPLOY_RUNNER"} <= {agent["intent"] for agent in agents}
    report = data(kds_call("prompts", "check", "--json"))
    assert (report["problems"], report["strays"]) == ([], [])
    again = kds_call("prompts", "new", "deploy-runner")
    assert (again.code, "there is a prompt" in again.err) == (BAD_INPUT, True)
    assert kds_call("prompts", "new", "Deploy Runner").code == BAD_INPUT


def test_a_new_rule_passes_the_check_and_one_whose_tests_fail_is_explained(
    fitted_workspace: Path, kds_call: Run
) -> None:
    path = Path(kds_call("rules", "new", "place").out.splitlines()[0])
    assert yaml.safe_load(path.read_text())["rules"][0]["id"] == "my.place"
    assert kds_call("rules", "check").code == 0
    assert "my.place" in kds_call("rules", "list").out
    usual = Path(kds_call("rules", "new", "usual-place").out.splitlines()[0])
    assert "Open the usual place," in usual.read_text()
    assert kds_call("rules", "new", "place").code == BAD_INPUT
    assert "packaged" in kds_call("rules", "new", "pronouns").err
    for name in ("x" * 300, "../x", "a/b", "_x", "x\n"):
        assert "can be no name" in kds_call("rules", "new", name).err
    usual.unlink()
    added = "      - {context: [Add a button], in: Make it red, out: Make the button red}\n"
    path.write_text(path.read_text() + added + "      - {in: Open the door, out: Open it}\n")
    failed = kds_call("rules", "check")
    assert (failed.code, "2 failed" in failed.out) == (1, True)
    for part in (f"{path}:", "passes by another rule", "- Open it\n            + Open the door"):
        assert part in failed.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("recall: {hybrid: true}\n", "by hand"),
        ("# mine\na: [\n", "settings.yaml:2: is not YAML"),
        ("link", "is a link"),
    ],
)
def test_a_settings_file_that_is_a_link_or_of_another_shape_is_left_as_it_is(
    own: Path, tmp_path: Path, kds_call: Run, text: str, told: str
) -> None:
    theirs = tmp_path / "theirs.yaml"
    theirs.write_text(text)
    own.parent.mkdir()
    own.symlink_to(theirs) if text == "link" else own.write_text(text)
    changed = kds_call("config", "set", "recall.rerank_alpha", "0.2", "--own")
    assert (changed.code, told in changed.err) == (BAD_INPUT, True), changed.err
    assert own.read_text() == theirs.read_text() == text
