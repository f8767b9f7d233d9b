"""`kds memory`: sessions, search, transfer, upkeep, profile and consent on the command line."""

import json
import sqlite3
import stat
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.sessions import Session

from ..conftest import BAD_INPUT, Run, data, refused

TESTS_FAILED = 1
PURPLE = "Ada Aardvark likes purple headers"


@pytest.fixture
def memory_file(workspace: Path) -> Path:
    return workspace / "kds-brain" / "memory.db"


@pytest.fixture
def staging(memory_file: Path) -> Session:
    """A session about staging, and a later one about dark mode."""
    with SqliteStore(memory_file) as store:
        session = store.create_session()
        store.append(session.id, "user", "Which port does staging use?")
        store.append(session.id, "assistant", "Staging uses port 8443.")
        store.append(session.id, "user", "And the retry policy?")
        code = "See\n```python\ndef get_user_name(uid):\n    return db[uid].name\n```\n"
        store.append(session.id, "assistant", code)
        dark = store.create_session(title="Dark mode", document_context="ui.md")
        store.append(dark.id, "user", "I want to add a dark mode toggle")
        store.append(dark.id, "assistant", "It goes into the header.")
        return store.session(session.id)


@pytest.fixture
def memory(kds_call: Run, staging: Session) -> Run:
    """Run `kds memory` where those sessions are remembered."""
    return partial(kds_call, "memory")


LOOKS = (
    "show", "search port", "check", "check --rebuild", "cleanup --older-than 30d --yes",
    "export --all", "check --backfill", "profile show", "profile clear", "consent show",
    "consent revoke",
)  # fmt: skip


@pytest.mark.parametrize("words", LOOKS)
def test_looking_at_nothing_says_so_and_makes_no_file(
    words: str, kds_call: Run, memory_file: Path
) -> None:
    told = kds_call("memory", *words.split())
    assert (told.code, told.err, bool(told.out)) == (0, "", True)
    data(kds_call("memory", *words.split(), "--json"))
    assert not memory_file.exists()


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (["show", "lunch"], "no session 'lunch'", "kds memory show"),
        (["rename", "lunch", "Dinner"], "no session 'lunch'", "kds memory show"),
        (["rename", "Dark mode", " "], "the title is empty", "write some words"),
        (["delete", "lunch"], "no session 'lunch'", "kds memory show"),
        (["show", "o"], "may be any of 2 sessions", "name one:"),
        (["search"], "QUERY", "see kds memory search --help"),
        (["export"], "name the sessions", "--all"),
        (["export", "last", "--all"], "name the sessions", "--all"),
        (["export", "last", "--to", "no/where.json"], "no/where.json", ""),
        (["import", "nowhere.json"], "nowhere.json", "see kds memory import --help"),
        (["cleanup", "--older-than", "soon"], "invalid duration", "36h, 30d or 2w"),
        (["cleanup"], "--older-than", "see kds memory cleanup --help"),
        (["profile", "set"], "needs one at least", "role="),
        (["profile", "set", "name=Ada"], "there is no consent", "consent grant"),
        (["profile", "clear", "name=Ada"], "KEY=VALUE is for set", "profile set"),
        (["consent", "grnat"], "'grnat' is not one of 'show', 'grant', 'revoke'", ""),
        (["consent", "grant", "--for", " "], "consent needs a purpose", "what the profile is for"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_usage_is_one_line_and_its_fix_on_stderr(
    memory: Run, arguments: list[str], message: str, fix: str
) -> None:
    refused(memory(*arguments), message, fix)


@pytest.mark.parametrize(
    ("model", "message", "fix"),
    [
        ("nowhere:Model", "nowhere", "install it"),
        ("json:loads", "json:loads", ""),
        ("json:Large", "json:Large", "name of the class"),
        ("pathlib:Path", "has no embed_documents", "name"),
        ("small", "unknown embedding model", "MODULE:"),
    ],
)
def test_a_wrong_embedding_model_is_named_with_its_fix(
    memory: Run, model: str, message: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", model)
    refused(memory("check", "--backfill"), message, fix)


def test_sessions_are_listed_found_by_any_name_and_shown_with_their_terms(
    memory: Run, staging: Session, memory_file: Path
) -> None:
    titles = [one["title"] for one in data(memory("show", "--json"))]
    assert titles == ["Dark mode", staging.title]
    [second] = data(memory("show", "--limit", "1", "--offset", "1", "--json"))
    assert (second["id"], second["messages"]) == (staging.id, 4)
    table = memory("show").out
    assert staging.id[:8] in table
    assert "ui.md" in table
    for name in (staging.id, staging.id[:8], staging.title, staging.title.upper(), "staging"):
        assert data(memory("show", name, "--json"))["id"] == staging.id
    assert data(memory("show", "last", "--json"))["title"] == "Dark mode"
    with SqliteStore(memory_file) as store:
        store.append(staging.id, "system", "You are a wombat.")
        said = "The time limit is 30 s. It can be raised."
        store.entities.remember_turn(staging.id, ["time limit"], answer=said)
    for arguments in (("show", staging.id), ("show", staging.id, "--json")):
        shown = memory(*arguments).out
        assert ("Which port" in shown, "time limit" in shown, "30 s" in shown) == (True,) * 3
        assert "wombat" not in shown, "a system message is not shown"


def test_what_is_named_or_old_is_deleted_only_when_told(
    memory: Run, staging: Session, memory_file: Path
) -> None:
    assert "would delete 1 session, 4 messages; --yes does it" in memory("delete", "staging").out
    assert len(data(memory("show", "--json"))) == 2
    assert "deleted 1 session, 4 messages" in memory("delete", "staging", "--yes").out
    assert b"Staging uses" not in memory_file.read_bytes()
    long_ago = datetime.now(UTC) - timedelta(days=40)
    with SqliteStore(memory_file, clock=lambda: long_ago) as store:
        old = store.create_session(title="Old")
        store.append(old.id, "user", "hello")
    dry = data(memory("cleanup", "--older-than", "30d", "--json"))
    assert ([one["title"] for one in dry["sessions"]], dry["dry_run"]) == (["Old"], True)
    done = data(memory("cleanup", "--older-than", "30d", "--yes", "--json"))
    assert (done["messages"], done["dry_run"]) == (1, False)
    assert [one["title"] for one in data(memory("show", "--json"))] == ["Dark mode"]


def test_search_finds_explains_and_puts_a_context_together_within_its_budget(
    memory: Run, kds_call: Run, staging: Session
) -> None:
    found = data(memory("search", "which", "port", "--json"))
    best = found["hits"][0]
    assert (found["query"], best["session"], best["elsewhere"]) == ("which port", staging.id, False)
    assert set(best["scores"]) == {"dense", "lexical", "code"}
    assert {"role", "text", "message", "score", "title", "kind", "tokens"} <= set(best)
    assert best["why"]
    assert found["counts"]["lexical"] > 0
    assert found["timings_ms"]["total"] > 0
    assert memory("search", "zeppelin").out == "nothing was found\n"
    text = memory("search", "staging port", "--explain").out
    assert all(part in text for part in ("Staging uses port 8443.", "why ", "candidates"))
    budgeted = ("search", "which port does staging use", "--budget", "30")
    context = data(memory(*budgeted, "--json"))["context"]
    assert 0 < context["tokens"] <= context["budget_tokens"] == 30
    assert context["left_out"] > 0
    printed = memory(*budgeted)
    assert printed.out == context["text"] + "\n"
    assert "left out for 30 tokens" in printed.err
    budget = data(kds_call("metrics", "--json"))["recalls"]["budget"]
    assert (budget["recalls"], budget["over"]) == (2, 0)


def test_backfill_makes_vectors_that_search_uses_and_goes_on_after_an_outage(
    memory: Run, embeddings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "down").touch()
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    refused(memory("check", "--backfill"), "the model is down")
    searched = memory("search", "port")
    assert "Staging uses port 8443." in searched.out
    assert "words only" in searched.err
    (tmp_path / "down").unlink()
    first = data(memory("check", "--backfill", "--json"))
    [model] = first["models"]
    assert first["embedded"] == model["vectors"] > 0
    assert (model["waiting"], model["state"], model["dimensions"]) == (0, "serving", 26)
    assert memory("check", "--backfill").out.startswith("there was nothing to do\n")
    found = data(memory("search", "port", "--json"))
    assert found["counts"]["dense"] > 0
    assert found["hits"][0]["scores"]["dense"] is not None


def test_an_embedding_model_that_cannot_be_imported_leaves_words_and_one_warning(
    memory: Run, staging: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", "not_there:Model")
    lost = memory("search", "staging port", "--json")
    assert (lost.code, json.loads(lost.out)["hits"][0]["session"]) == (0, staging.id)
    (line,) = lost.err.splitlines()
    assert all(part in line for part in ("not_there", "searching by words alone", "install it"))


def test_the_shipped_encoder_finds_what_shares_no_word_and_leaves_nonsense_alone(
    memory: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("search", "display theme for working at night", "--json")
    assert data(memory(*asked))["counts"].get("dense", 0) == 0  # no vectors yet: words alone
    assert data(memory("check", "--backfill", "--json"))["models"][0]["name"] == "shipped"
    assert "dark mode" in data(memory(*asked))["hits"][0]["text"]
    assert data(memory("search", "xylophone qqqq", "--json"))["hits"] == []
    monkeypatch.setenv("RAG_EMBEDDINGS", "off")
    assert data(memory(*asked))["counts"]["dense"] == 0


def test_what_is_damaged_is_named_and_the_rest_goes_on(
    kds_call: Run, memory: Run, memory_file: Path, staging: Session
) -> None:
    with SqliteStore(memory_file) as store, store.database.write() as connection:
        connection.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('delete-all')")
    damaged = memory("check")
    assert (damaged.code, "chunk_fts" in damaged.out) == (TESTS_FAILED, True)
    assert data(memory("check", "--rebuild", "--json"))["sound"]
    found = data(memory("check", "--json"))
    assert (found["sessions"], found["messages"], found["profile_consent"]) == (2, 6, False)
    assert (found["sound"], found["path"]) == (True, str(memory_file))
    assert "no consent" in memory("check").out
    with sqlite3.connect(memory_file) as connection:
        connection.execute("UPDATE message SET content = x'ff00fe' WHERE seq = 2")
        connection.execute("UPDATE session SET title = x'ff00fe' WHERE id = ?", (staging.id,))
    shown = memory("show", staging.id)
    assert shown.code == BAD_INPUT
    assert "message 2 is damaged: it is not text" in shown.err
    assert "fix: kds memory delete" in shown.err
    assert "Which port" in memory("search", "staging port").out
    assert "(damaged)" in memory("show").out
    asked = kds_call("ask", "--session", staging.id, "Add a health check")
    assert (asked.code, "internal error" in asked.err) == (0, False)
    assert memory("delete", staging.id, "--yes").code == 0


def test_an_export_of_any_size_comes_back_the_same_or_as_a_copy_and_may_be_markdown(
    memory: Run, staging: Session, workspace: Path, memory_file: Path, kds_spawn: Run
) -> None:
    text = memory("export", "Dark mode", "staging", "--format", "markdown").out
    assert text.startswith("# Dark mode\n")
    assert "\n---\n\n# Which port" in text
    assert "```python\ndef get_user_name(uid):" in text
    both = memory("export", "last", "--format", "markdown", "--json")
    assert (both.code, "does not go with Markdown" in both.err) == (BAD_INPUT, True)
    with SqliteStore(memory_file) as store:
        for number in range(400):
            store.append(staging.id, "user", f"{number} {'The deploy ran out of time. ' * 100}")
    written = memory("export", "--all", "--to", "all.json")
    assert "2 sessions, 406 messages in all.json" in written.out
    file = workspace / "all.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size > 1 << 20
    memory_file.unlink()
    imported = data(memory("import", "all.json", "--json"))
    assert [one["messages"] for one in imported["sessions"]] == [2, 404]
    assert memory("export", "--all").out == file.read_text()
    piped = kds_spawn("memory", "import", "-", stdin=memory("export", "Dark mode").out.encode())
    assert "imported 1 session, 2 messages" in piped.out
    assert (len(data(memory("show", "--json"))), piped.err) == (3, "")


def test_an_import_goes_on_behind_sessions_that_are_here_and_adds_what_went_on_elsewhere(
    memory: Run, workspace: Path
) -> None:
    file = workspace / "all.json"
    memory("export", "--all", "--to", str(file))
    memory("delete", "Dark mode", "--yes")
    assert "imported 2 sessions" in memory("import", str(file)).out
    assert len(data(memory("show", "--json"))) == 2
    memory("delete", "Dark mode", "--yes")
    file.write_text(file.read_text().replace("And the retry policy?", "And the timeout?"))
    memory("import", str(file))
    assert len(data(memory("show", "--json"))) == 3
    assert "And the timeout?" in memory("search", "timeout").out


def test_the_profile_needs_consent_every_use_is_logged_and_revoking_wipes_it_from_the_disk(
    memory: Run, workspace: Path
) -> None:
    assert "there is no consent" in memory("profile", "show").out
    granted = data(memory("consent", "grant", "--for", "my stack", "--json"))
    assert (granted["given"], granted["purpose"]) == (True, "my stack")
    saved = data(memory("profile", "set", "name=Ada", "languages=go", "tests=pytest", "--json"))
    assert (saved["profile"]["name"], saved["profile"]["languages"]) == ("Ada", ["go"])
    changed = memory("profile", "set", "tests=", f"about={PURPLE}").out
    assert (PURPLE in changed, "pytest" in changed) == (True, False)
    shown = data(memory("profile", "show", "--json"))["profile"]
    assert (shown["name"], shown["preferences"], shown["about"]) == ("Ada", {}, PURPLE)
    log = data(memory("consent", "show", "--json"))["events"]
    assert [one["action"] for one in log] == [
        "granted", "used", "changed", "used", "changed", "used",
    ]  # fmt: skip
    assert PURPLE not in json.dumps(log)
    memory("profile", "set", "database=zzyzx cluster")
    for budget in ([], ["--budget", "300"]):
        found = memory("search", "zzyzx", *budget).out
        assert "zzyzx cluster" in found
        assert "nothing was found" not in found
        assert "nothing was found" in memory("search", "quokka", *budget).out
    assert "nothing is kept about you; revoked" in memory("consent", "revoke").out
    files = [path for path in (workspace / "kds-brain").rglob("*") if path.is_file()]
    assert [path for path in files if PURPLE.encode() in path.read_bytes()] == []
    memory("consent", "grant")
    memory("profile", "set", "name=Ada")
    assert data(memory("profile", "clear", "--json")) == {"cleared": True}
    assert memory("profile", "show").out == "the profile is empty\n"
    assert data(memory("consent", "show", "--json"))["given"]
