"""The rules of `grammar.yaml`: what they name is there, and is used."""

import re
from pathlib import Path

import yaml

from kds.router.english import load_english, table
from kds.router.language import grammar, tagger

TEXT = Path(grammar.__file__).with_name("grammar.yaml").read_text("utf-8")
RULES = yaml.safe_load(TEXT)
SAID = (
    "the a an my it something who is can not and if two second also at yes US A Redis "
    "ly quickly faster read-only test tests testing tested set failing red usable "
    "frobnicate Test , src/a.py open better what 's that "
).split()


def test_every_quality_that_a_rule_asks_for_is_one_of_a_word() -> None:
    asked = set(re.findall(r"(?<=[|:!<>])\.\w+", TEXT))
    known = {mark for word in SAID for mark in tagger._looked_up(word, load_english())[3]}
    assert asked - known == set()


def test_every_list_is_used_and_every_verb_list_is_there() -> None:
    lists = [name for name in RULES["lists"] if not re.search(rf"@{name}\b", TEXT)]
    assert lists == []
    unknown = {*re.findall(r"=(\w+)", TEXT)} - RULES.keys() - {"NAME"}
    assert unknown == set()
    verbs = {*re.findall(r"~(\w+)", TEXT)} - {"go", "keep", "make", "NAME"}
    assert verbs - {*table("verbs"), *table("closed_class")} == set()
