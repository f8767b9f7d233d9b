"""Files of examples and dialogues: what they accept, and how they refuse the rest."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import ConfigError, DialogueFileError
from kds.brain.turn import UNKNOWN
from kds.testing.chats import read_chats
from kds.testing.dialogues import find_dialogue_files, is_dialogue_file, parse_dialogues
from kds.testing.example_files import SHOWN_PROBLEMS
from kds.testing.follow_ups import read_follow_ups
from kds.testing.intents import load_intents
from kds.testing.retrieval import RETRIEVAL_FORM, read_retrieval

FOLLOW_UP_FORM = """\
- id: agreement-dates
  document: pooling-agreement.md
  turns:
    - user: What is the Determination Date?
      find: {section: Section 1.01, contains: the 15th day}
    - user: And what happens if it falls on a weekend?
      expanded: And what happens if the Determination Date falls on a weekend?
      refers_to: Determination Date
      find: {section: Section 1.02, contains: not a Business Day}"""
GOOD = '{"text": "Make it purple", "intent": "EXECUTE"}'
FAB = """
- id: fab-button
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - user: Make it purple
      intent: [execute, CORRECT]
      context_ref: FAB button
      expanded: Make the FAB button purple
      secondary: [TEST]
      switch: true
"""


def _file(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "examples.jsonl"
    path.write_bytes(b"\n".join(x.encode() if isinstance(x, str) else x for x in lines))
    return path


def _problems(read: Callable[[], object]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read()
    return [str(problem) for problem in caught.value.problems]


def test_rows_of_json_are_read_and_every_problem_comes_at_once(tmp_path: Path) -> None:
    odd = '{"text":"a","intent":["oos","card_x"],"id":3}\r'
    path = _file(tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), "", "  ", odd)
    one, other = load_intents(path)
    assert (one.text, one.intents, other.text) == ("Make it purple", ("EXECUTE",), "a")
    assert (other.intents, other.where) == ((UNKNOWN, "card_x"), f"{path}:4")
    rows = ['{"text": 3}', "no json", "[1]", GOOD, "", '{"txt": "a", "intent": []}']
    found = _problems(lambda: load_intents(_file(tmp_path, *rows)))
    for problem, said in zip(found, (
        ":1: 'text' must be text, not 3", ":1: key 'intent' is missing", ":2: the line is not JSON",
        ":3: the line must be an object", ":6: key 'text' is missing",
        ":6: 'intent' must have at least 1 items",
    ), strict=True):  # fmt: skip
        assert problem.startswith(f"{path}{said}")
        assert "\n  fix: " in problem
    assert "is 'txt' meant?" in found[4]
    found = _problems(lambda: load_intents(_file(tmp_path, *["a,b,c"] * 500)))
    assert len(found) == SHOWN_PROBLEMS
    (found,) = _problems(lambda: load_intents(_file(tmp_path, GOOD, b'{"text": "\xff"}')))
    assert found.startswith(f"{path}:2: the line is not UTF-8")
    for nothing in (tmp_path / "nowhere.jsonl", tmp_path):
        assert "cannot be read" in _problems(lambda: load_intents(nothing))[0]  # noqa: B023


REF = {"text": "it", "nth": 2, "kind": "pronoun", "antecedents": ["FAB button"], "source": "user"}


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"assistant": "Done."}, "key 'user' (in turns, item 1) is missing"),
        ({"user": "it", "intents": "EXECUTE"}, "'intents' (in turns, item 1) must be a list"),
        ({"user": "it", "refs": [{**REF, "kind": "noun"}]}, "refs, item 1) must be 'pronoun'"),
        ({"user": "it", "refs": [{"text": "it"}]}, "'source' (in turns, item 1, refs, item 1)"),
    ],
)
def test_a_wrong_turn_of_a_chat_is_named_with_its_line(
    tmp_path: Path, turn: dict[str, Any], said: str
) -> None:
    path = _file(tmp_path, json.dumps({"id": "a", "turns": [turn]}))
    found = "\n".join(_problems(lambda: read_chats(path)))
    assert f"{path}:1: " in found
    assert said in found


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("refers_to", "refer_to", 8, "did you mean 'refers_to'"),
        ("- id:", "- note:", 1, "id"),
        ("      expanded: And", "      note: And", 6, "no 'expanded'"),
        ("id: agreement-dates", "id: ''", 1, "must not be empty"),
    ],
)
def test_a_fault_among_follow_ups_is_named_with_its_line(
    tmp_path: Path, before: str, after: str, line: int, said: str
) -> None:
    path = _file(tmp_path, FOLLOW_UP_FORM)
    (talk,) = read_follow_ups(path)
    assert (talk.path, talk.turns[1].refers_to) == (
        tmp_path / "pooling-agreement.md", ("Determination Date",),
    )  # fmt: skip
    _file(tmp_path, FOLLOW_UP_FORM.replace(before, after))
    (problem,) = _problems(lambda: read_follow_ups(path))
    assert problem.startswith(f"{path}:{line}: ")
    assert said in problem


MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "speaker": "Ann", "at": "1:56 pm on 8 May, 2023", "content": "Hi"},
    {"id": 2, "role": "assistant", "content": "Hello", "more": 1},
]
QUERY: dict[str, Any] = {"conversation": "c", "query": "Who?", "relevant": "m1", "category": 3}
IN_MESSAGES = "(in conversations, item 1, messages, item 1)"


def _memories(folder: Path, messages: Any, queries: Any) -> Path:
    data = {"conversations": [{"id": "c", "messages": messages}], "queries": list(queries)}
    return _file(folder, json.dumps(data))


@pytest.mark.parametrize(
    ("messages", "queries", "problem"),
    [
        (MESSAGES, (QUERY | {"relevant": []},), "no query has an answer"),
        ([{"id": "m1", "content": 3}], (QUERY,), f"'content' {IN_MESSAGES}"),
        ([{"content": "x"}], (QUERY,), f"key 'id' {IN_MESSAGES}"),
        ([], (QUERY,), "'messages' (in conversations, item 1) must have at least 1"),
        (MESSAGES, (), "'queries' must have at least 1"),
        ([MESSAGES[0], MESSAGES[0]], (QUERY,), "conversation 'c' has several messages 'm1'"),
        (MESSAGES, (QUERY | {"relevant": ["x"]},), "item 1: there is no message 'x'"),
        (MESSAGES, (QUERY | {"conversation": "d"},), "there is no conversation 'd'"),
        ([MESSAGES[0] | {"at": "soon"}], (QUERY,), "messages, item 1) must be a time"),
        ([MESSAGES[0] | {"role": "robot"}], (QUERY,), "messages, item 1) must be 'user'"),
    ],
)
def test_a_problem_of_conversations_is_told_with_its_place(
    tmp_path: Path, messages: Any, queries: Any, problem: str
) -> None:
    path = _memories(tmp_path, messages, queries)
    found = _problems(lambda: read_retrieval(path))[0]
    assert found.startswith(str(path))
    assert problem in found


def test_conversations_have_times_and_only_queries_with_an_answer_count(tmp_path: Path) -> None:
    unanswered = QUERY | {"query": "What never came up?", "relevant": []}
    data = read_retrieval(_memories(tmp_path, MESSAGES, (QUERY, unanswered)))
    first, second = data.conversations[0].messages
    assert (f"{first.at}", first.speaker) == ("2023-05-08 13:56:00+00:00", "Ann")
    assert (second.id, f"{second.at}") == ("2", "2020-01-01 00:01:00+00:00")
    (query,) = data.queries
    assert (query.query, query.relevant, query.category) == ("Who?", ("m1",), "3")
    assert len(read_retrieval(_file(tmp_path, RETRIEVAL_FORM)).queries) == 1


def test_a_dialogue_means_the_same_as_yaml_and_json_and_a_scalar_is_a_list_of_one() -> None:
    (dialogue,) = parse_dialogues(FAB, Path("a.yaml"))
    first, second = dialogue.turns
    assert (dialogue.id, dialogue.where, second.where) == ("fab-button", "a.yaml:2", "a.yaml:5")
    assert (first.intents, first.expanded, first.switch, first.secondary) == (
        ("PLAN",), (), False, None,
    )  # fmt: skip
    assert (second.intents, second.context_refs) == (("EXECUTE", "CORRECT"), ("FAB button",))
    assert (second.expanded, second.secondary) == (("Make the FAB button purple",), ("TEST",))
    assert second.switch
    turn = {"user": "I want to add a FAB button", "intent": ["PLAN"], "secondary": None}
    text = json.dumps([{"id": "a", "turns": [turn]}], indent="\t")
    assert parse_dialogues(text, Path("a.json"))[0].turns[0] == first.placed("a.json:5")


def test_every_problem_of_a_dialogue_file_is_reported_at_once_with_its_line() -> None:
    text = """
- id: a
  turn: []
- id: a
  turns:
    - {user: 12, expandd: x}
    - {user: "", switch: "yes"}
    - hello
- 3
"""
    problems = _problems(lambda: parse_dialogues(text, Path("a.yaml")))
    for expected in (
        "a.yaml:3: unknown key 'turn' (in item 1)\n  fix: did you mean 'turns'?",
        "a.yaml:6: unknown key 'expandd' (in item 2, turns, item 1)\n  fix: did you mean",
        "a.yaml:6: 'user' (in item 2, turns, item 1) must be text, not 12",
        "a.yaml:7: 'user' (in item 2, turns, item 2) must not be empty",
        "a.yaml:7: 'switch' (in item 2, turns, item 2) must be true or false",
        "a.yaml:8: item 3 (in item 2, turns) must be a mapping, not 'hello'",
        "a.yaml:9: item 3 must be a mapping, not 3",
        "a.yaml:4: id 'a' is already used at a.yaml:2",
    ):
        assert expected in "\n".join(problems)
    assert len(problems) == 8
    for nothing in ("", "[]", "3", "null", "just text"):
        with pytest.raises(DialogueFileError, match="no dialogues"):
            parse_dialogues(nothing, Path("a.yaml"))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "turns", "user", "intent", "x"]), inner)
    ),
    max_leaves=8,
)


@given(st.text(max_size=60) | _json.map(json.dumps))
def test_any_text_and_any_bytes_are_read_or_refused(text: str) -> None:
    for name in ("a.yaml", "a.json"):
        with suppress(DialogueFileError):
            assert all(turn.user for one in parse_dialogues(text, Path(name)) for turn in one.turns)
    with TemporaryDirectory() as folder, suppress(ConfigError):
        assert load_intents(_file(Path(folder), text.encode("utf-16", "surrogatepass")))


def test_dialogue_files_are_known_by_name_or_folder() -> None:
    named = "dialogues/fab.yaml dialogues/deep/fab.yml fab.dialogue.yaml fab.dialogue.json"
    assert all(is_dialogue_file(Path("tests", name)) for name in named.split())
    others = "dialogues/data.json fab.yaml dialogues.yaml"
    assert not any(is_dialogue_file(Path("tests", name)) for name in others.split())


def test_folders_are_searched_and_paths_that_lead_nowhere_are_all_reported(tmp_path: Path) -> None:
    folder = tmp_path / "dialogues"
    folder.mkdir()
    for name in ("b.yaml", "a.yaml", "notes.md"):
        (folder / name).write_text(FAB)
    other = _file(tmp_path, "[]")
    found = find_dialogue_files([folder, other, folder])
    assert [path.name for path in found] == ["a.yaml", "b.yaml", "examples.jsonl"]
    (tmp_path / "empty").mkdir()
    first, second = _problems(lambda: find_dialogue_files([tmp_path / "empty", tmp_path / "none"]))
    assert "no dialogue file in this folder" in first
    assert "no such file or folder" in second
