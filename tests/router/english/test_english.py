"""The word lists: what is wrong with a table is told, and a workspace adds to some of them."""

from pathlib import Path

import pytest

from kds.brain.errors import ConfigError
from kds.router import english
from kds.router.english import WORKSPACE_TABLES, load_english, table, words
from kds.router.language.analysis import Language
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.references.ruleset import RuleSet

from ..conftest import Write


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
    (tmp_path / "broken.yaml").write_text("one: a b a\n")
    monkeypatch.setattr(english, "PACKAGED", tmp_path)
    with pytest.raises(ConfigError, match="'a' stands twice in 'one'"):
        table("broken")


def test_the_language_of_a_workspace_reads_with_its_words(write: Write) -> None:
    own = load_english(write(preferences="singular_s: helios\n", particles="'up': ship\n"))
    for language, number, tag in ((Language(), "pl", "ADP"), (Language(english=own), "sg", "ADV")):
        assert language.analyse("restart the helios").phrases[0].number == number
        assert language.analyse("ship up the docs").words[1].pos == tag


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
