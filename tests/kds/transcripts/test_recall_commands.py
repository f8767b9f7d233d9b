"""From the user's words to what is found: `kds recall`, `kds memory import`, `forget`."""

from pathlib import Path

import pytest

from kds.transcripts.recalling import SURE

from ..conftest import BAD_INPUT, Run, data, refused
from .conftest import Write

pytestmark = pytest.mark.usefixtures("on_server")

QUESTION = ("recall", "which port has staging?")
DECIDED = "Decision: staging listens on port 8443, because 8080 is taken by the proxy."


def test_a_decision_is_found_with_the_command_that_resumes_it(shop: Path, kds_call: Run) -> None:
    told = data(kds_call("memory", "import", "--json"))
    assert told["sessions"] == {"claude": 1, "codex": 1, "copilot": 1, "gemini": 1}
    found = data(kds_call(*QUESTION, "--json"))["hits"][0]
    assert found["text"].strip() == DECIDED
    assert found["resume"].endswith(found["session"].partition(":")[2])
    assert {"port", "staging"} <= set(found["words"])
    assert "codex resume 01a20e5c" in kds_call(*QUESTION, "--limit", "9").out


def test_a_passage_found_by_meaning_says_so(shop: Path, kds_call: Run, claude: Write) -> None:
    claude("night", "Users cannot sign in", "The login cookie had expired.", folder=str(shop))
    kds_call("memory", "import", "--from", "claude")
    asked = ("recall", "authentication trouble")
    answer = data(kds_call(*asked, "--json"))
    assert answer["sure"] < SURE
    hit = {one["text"].strip(): one for one in answer["hits"]}["Users cannot sign in"]
    assert (hit["words"], hit["by_meaning"]) == ([], True)
    assert "by meaning: none of your words is in it" in kds_call(*asked).out
    worded = data(kds_call("recall", "login cookie", "--json"))["hits"][0]
    assert (worded["words"], worded["by_meaning"]) == (["login", "cookie"], False)
    assert "by meaning" not in kds_call("recall", "login cookie", "--limit", "1").out


def test_a_pasted_error_finds_what_mended_it(shop: Path, kds_call: Run, claude: Write) -> None:
    for number in range(30):
        claude(f"other{number}", "Run the tests", f"All {number} pass.", folder=str(shop))
    kds_call("memory", "import", "--from", "claude,codex")
    error = "ImportError: no module named frobnicate"
    hits = data(kds_call("recall", error, "--json"))["hits"]
    assert all("I added it to requirements.txt" in one["text"] for one in hits[:2])


def test_all_projects_on_request(shop: Path, kds_call: Run, claude: Write, tmp_path: Path) -> None:
    claude("bank", "Which port has the vault?", "The vault has port 9999.", folder=str(tmp_path))
    assert data(kds_call("memory", "import", "--json"))["other_projects"] == 2  # opencode's too
    kds_call("memory", "import", "--all-projects", "--from", "claude")
    asked = ("recall", "port of the vault", "--json")
    assert "9999" not in kds_call(*asked).out
    assert "9999" in data(kds_call(*asked, "--project", "all"))["hits"][0]["text"]
    refused(kds_call("recall", "port", "--project", "x"), "unknown project 'x'")


def test_what_is_kept_is_listed_and_can_be_forgotten(shop: Path, kds_call: Run) -> None:
    kds_call("memory", "import", "--from", "codex,claude")
    [row] = data(kds_call("memory", "sources", "--json"))["projects"]
    assert (row["folder"], row["sessions"]) == (str(shop), {"claude": 1, "codex": 1})
    shown = kds_call("memory", "delete", "--client", "codex")
    assert "would forget 1 session" in shown.out
    assert DECIDED in kds_call(*QUESTION).out
    assert "forgot 1 session" in kds_call("memory", "delete", "--client", "codex", "--yes").out
    assert data(kds_call("memory", "import", "--json"))["forgotten"] == 1
    assert "codex" not in kds_call(*QUESTION).out
    refused(kds_call("memory", "delete", "--yes"), "say which sessions")
    refused(kds_call("memory", "delete", "--client", "x"), "unknown client 'x'", "one of claude")


def test_sessions_may_be_kept_for_some_days_alone(shop: Path, kds_call: Run, claude: Write) -> None:
    path = claude("old", "the zanzibar migration", folder=str(shop))
    path.write_text(path.read_text().replace("2026-11-02", "2001-11-02"))
    kds_call("memory", "import", "--from", "claude")
    assert "zanzibar" in kds_call("recall", "zanzibar migration").out
    refused(kds_call("config", "set", "assistants.keep_days", "90"), "'assistants'", "--own")
    refused(kds_call("config", "set", "assistants.keep_days", "-1", "--own"), "keep_days")
    kds_call("config", "set", "assistants.keep_days", "3650", "--own")
    told = kds_call("memory", "import", "--from", "claude").out
    assert "forgot 1 session unused for 3,650 days" in told
    assert "zanzibar" not in kds_call("recall", "zanzibar migration").out
    assert "for 3,650 days" in kds_call("memory", "sources").out
    assert data(kds_call("memory", "import", "--from", "claude", "--json"))["forgotten"] == 1


def test_an_excluded_folder_is_forgotten_until_that_is_undone(shop: Path, kds_call: Run) -> None:
    kds_call("memory", "import", "--from", "codex")
    assert "forgot 1 session" in kds_call("memory", "sources", "--exclude", str(shop)).out
    assert "no sessions of assistants" in kds_call(*QUESTION).out
    assert str(shop) in kds_call("memory", "sources").out
    assert "nothing new" in kds_call("memory", "import", "--from", "codex").out
    kds_call("memory", "sources", "--include", str(shop))
    assert data(kds_call("memory", "sources", "--json"))["excluded"] == []
    kds_call("memory", "import", "--from", "codex")
    assert DECIDED in kds_call(*QUESTION).out


def test_a_dry_run_and_wrong_options(shop: Path, kds_call: Run) -> None:
    assert "16 messages would be imported" in kds_call("memory", "import", "--dry-run").out
    assert "no sessions of assistants are kept yet" in kds_call(*QUESTION).out
    refused(kds_call("memory", "import", "--from", "x"), "unknown client 'x'")
    assert kds_call("memory", "import", "a.json", "--all-projects").code == BAD_INPUT
    assert kds_call("recall", " ").code == BAD_INPUT


def test_what_cannot_be_found_is_told(shop: Path, kds_call: Run) -> None:
    kds_call("memory", "import", "--from", "codex")
    refused(
        kds_call("memory", "delete", "zzz", "--project", "all"),
        "no session 'zzz' is kept",
        "sources",
    )
    refused(kds_call("handoff", "--to", "nosuch"), "unknown client 'nosuch'", "one of claude")
    refused(
        kds_call("skills", "history", "--forget", "nosuch"),
        "no use of 'nosuch' is known",
        "history",
    )


def test_only_what_was_said_lately(shop: Path, kds_call: Run, claude: Write) -> None:
    claude("old", "Which port has staging?", "It has 1234.", folder=str(shop))
    path = claude("new", "Which port has staging?", "It has 5678.", folder=str(shop))
    path.write_text(path.read_text().replace("2026-11-02", "2999-01-01"))
    kds_call("memory", "import", "--from", "claude")
    told = kds_call(*QUESTION, "--since", "1h").out
    assert "5678" in told
    assert "1234" not in told
