"""Reading rules, entities and knowledge: overlays, and everything that can be wrong with them."""

from pathlib import Path

import pytest

from kds.brain.errors import RuleFileError
from kds.router.language.analysis import Language
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.references.ruleset import load_rules

from ..conftest import Write

TESTS = "tests: [{context: [Add a map], in: Make it red, out: Make the map red}, {in: Hello}]"
GOOD = f"rules:\n  - id: my.rule\n    signal: {{kind: pronoun, lemma: [it]}}\n    {TESTS}\n"


def ids(folder: Path | None) -> list[str]:
    return [rule.id for rule in load_rules(folder).rules]


OFF = "rules:\n  - {id: pron.it, enabled: false, signal: {kind: pronoun}}\n"


@pytest.mark.parametrize(
    ("files", "come", "gone"),
    [
        ({}, set(), set()),
        ({"mine": GOOD}, {"my.rule"}, set()),
        ({"mine": OFF}, set(), {"pron.it"}),
    ],
    ids=["nothing", "a rule more", "a rule switched off in two lines"],
)
def test_a_file_of_rules_adds_replaces_and_switches_off(
    write: Write, files: dict[str, str], come: set[str], gone: set[str]
) -> None:
    packaged, own = ids(None), ids(write(**files))
    assert (set(own) - set(packaged), set(packaged) - set(own)) == (come, gone)


def test_a_rule_of_the_same_id_replaces_the_packaged_one(write: Write) -> None:
    folder = write(mine=GOOD.replace("my.rule", "pron.it"))
    (rule,) = (rule for rule in load_rules(folder).rules if rule.id == "pron.it")
    assert (rule.signal.lemma, rule.where) == ({"it"}, f"{folder}/mine.yaml:2")


def test_a_file_of_the_same_name_replaces_the_packaged_one(write: Write) -> None:
    folder = write(pronouns=GOOD)
    assert "my.rule" in ids(folder)
    assert "pron.it" not in ids(folder)
    assert "set.both" in ids(folder)


def test_a_file_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"rules:\n  - id: \xff\n")
    with pytest.raises(RuleFileError, match=r"mine\.yaml:2: is not UTF-8 text"):
        load_rules(tmp_path)


def test_an_entities_file_of_ones_own_replaces_the_packaged_one(write: Write) -> None:
    text = """\
entities:
  - {label: GADGET, terms: [sonic probe], aliases: {probe: [long sensor]}}
  - {label: PLACE, plural: false, terms: [bay]}
"""
    rules = load_rules(write(entities=text))
    assert [(e.label, e.forms, e.canonical) for e in rules.entities] == [
        ("GADGET", ("sonic probe", "sonic probes"), ""),
        ("GADGET", ("long sensor", "long sensors"), "probe"),
        ("PLACE", ("bay",), ""),
    ]
    entities = Language(rules.entities).analyse("Move two Long Sensors to the bay").entities
    assert [(label, canonical) for *_, label, canonical in entities] == [
        ("GADGET", "probe"),
        ("PLACE", ""),
    ]


def test_a_knowledge_file_of_ones_own_replaces_the_packaged_one(
    write: Write, language: Language
) -> None:
    text = """\
selections:
  - {verbs: [water], things: [fern]}
types: {vegetable: [fern]}
surfaces: [shelf]
"""
    rules = load_rules(write(knowledge=text))
    resolver = Resolver(language, rules.rules, rules.knowledge)

    def rewrite(*messages: str) -> str:
        *context, message = messages
        return apply_edits(message, resolver.resolve(message, resolver.replay(context)).edits)

    assert rewrite("Buy a fern", "Paint the wall", "Water it") == "Water the fern"
    assert rewrite("Buy a fern", "Paint that vegetable") == "Paint the fern"
    assert rewrite("Build a shelf", "Put the lamp there") == "Put the lamp on the shelf"
    assert rewrite("Edit conf/nginx.conf", "Open that file") == "Open that file"
