"""The word lists: what is wrong with a table is told, and a workspace adds to some of them."""

import re
from pathlib import Path

import pytest

from kds.brain.errors import ConfigError
from kds.router import english
from kds.router.english import PACKAGED, WORKSPACE_TABLES, load_english, table, words
from kds.router.language.analysis import Language
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.references.ruleset import RuleSet

from ..conftest import Write

ROUTER = PACKAGED.parent


def problems(folder: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_english(folder)
    prefix = f"{folder}/"
    return [f"{p.where.removeprefix(prefix)} {p.message}; {p.hint}" for p in caught.value.problems]


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_list_of_a_packaged_table_says_what_it_is_for_and_is_used(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    sources = [file.read_text(encoding="utf-8") for file in ROUTER.rglob("*.py")]
    rules = (ROUTER / "language" / "grammar.yaml").read_text(encoding="utf-8")
    by_key = path.stem in {"particles", "auxiliaries", "other_languages"}
    assert lines[0].startswith("# ")
    for key, found in table(path.stem).items():
        assert found
        in_rules = re.search(rf"[@~]{key}\b", rules)
        assert by_key or in_rules or any(f'"{key}"' in source for source in sources)
        at = next(n for n, line in enumerate(lines) if line.startswith((f"{key}:", f'"{key}":')))
        assert by_key or lines[at - 1].startswith("# ")


def test_a_workspace_without_tables_has_the_packaged_ones(tmp_path: Path) -> None:
    assert load_english() is load_english(tmp_path) is load_english(tmp_path / "absent")
    for name in WORKSPACE_TABLES:
        assert getattr(load_english(), name) == table(name)


def test_words_join_a_list_and_leave_it(write: Write) -> None:
    own = load_english(write(preferences="noun_first: ship -file\n", particles="'on': bolt\n"))
    packaged = words("preferences", "noun_first")
    assert own.preferences["noun_first"] == packaged - {"file"} | {"ship"}
    assert own.preferences["verb_first"] == words("preferences", "verb_first")
    assert own.particles["on"] == words("particles", "on") | {"bolt"}
    assert words("preferences", "noun_first") == packaged


def test_a_packaged_table_is_checked_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.yaml").write_text("one: a b a\ntwo: C\n")
    monkeypatch.setattr(english, "PACKAGED", tmp_path)
    with pytest.raises(ConfigError) as caught:
        table("broken")
    assert [p.message for p in caught.value.problems] == [
        "'a' stands twice in 'one'",
        "'C' is not lower case in 'two'",
    ]


def test_the_language_of_a_workspace_reads_with_its_words(write: Write) -> None:
    own = write(
        preferences="singular_s: helios\n",
        particles="'up': ship\n",
    )
    packaged, mine = Language(), Language(english=load_english(own))

    def number(language: Language, text: str) -> list[str]:
        return [phrase.number for phrase in language.analyse(text).phrases]

    def tags(language: Language, text: str) -> list[str]:
        return [word.pos for word in language.analyse(text).words]

    assert number(packaged, "restart the helios") == ["pl"]
    assert number(mine, "restart the helios") == ["sg"]
    assert tags(packaged, "ship up the docs")[1] == "ADP"
    assert tags(mine, "ship up the docs")[1] == "ADV"


def test_a_noun_of_people_of_ones_own_is_meant_by_they(
    write: Write, packaged_rules: RuleSet
) -> None:
    messages = ("What does the bosun check?", "How long do they have?")

    def rewritten(language: Language) -> str:
        resolver = Resolver(language, packaged_rules.rules, packaged_rules.knowledge)
        replayed = resolver.replay(messages[:1])
        return apply_edits(messages[1], resolver.resolve(messages[1], replayed).edits)

    own = load_english(write(people="nouns: bosun\n"))
    assert rewritten(Language(packaged_rules.entities)) == "How long do they have?"
    assert rewritten(Language(packaged_rules.entities, english=own)) == (
        "How long does the bosun have to check?"
    )
