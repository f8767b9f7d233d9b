"""docs/references.md says what the code does."""

import re
from pathlib import Path
from typing import get_args

import pytest

from kds.brain.turn import Utterance
from kds.router.language.analysis import Language
from kds.router.references.resolver import Resolver, apply_edits
from kds.router.references.ruleset import AntecedentNeed, Rule, SignalKind, load_rules

PAGE = Path(__file__).parents[2] / "docs" / "references.md"


def rows(first_column: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.split(f"\n| {first_column} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def names(cells: list[list[str]]) -> list[str]:
    return [re.findall(r"`(\w+)`", row[0])[0] for row in cells]


KINDS = rows("kind")


@pytest.fixture(scope="module")
def with_example(language: Language, tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    """The packaged rules with the rule file that the page writes on top."""
    example = re.search(r"mine\.yaml <<'END'\n(.*?)END\n", PAGE.read_text("utf-8"), re.DOTALL)
    assert example is not None
    overlay = tmp_path_factory.mktemp("rules")
    (overlay / "mine.yaml").write_text(example[1], encoding="utf-8")
    rules = load_rules(overlay)
    return Resolver(language, rules.rules, rules.knowledge)


def test_every_signal_kind_and_every_key_of_a_rule_and_of_its_antecedent_is_documented() -> None:
    assert sorted(names(KINDS)) == sorted(get_args(SignalKind))
    text = PAGE.read_text(encoding="utf-8")
    rule, antecedent = text.split("`antecedent` takes:", 1)
    for model, part in ((Rule, rule), (AntecedentNeed, antecedent)):
        missing = [key for key in model.model_fields if f"\n| `{key}` |" not in part]
        assert missing == []


@pytest.mark.parametrize("row", KINDS, ids=names(KINDS))
def test_the_example_of_a_signal_kind_works(with_example: Resolver, row: list[str]) -> None:
    kind, _, after, message, becomes = row
    before = [said for said in after.split("<br>") if said]
    reply = next((said.strip("*") for said in before if said.startswith("*")), "")
    told = with_example.replay([said for said in before if not said.startswith("*")])
    switched = with_example.switch(message, told)
    history = (Utterance(reply, "assistant"),) if reply else ()
    resolved = with_example.resolve(message, told, history=history)
    written = apply_edits(message, resolved.edits)
    assert ("*a switch*" if switched else written) == becomes
    used = switched or "".join(r.rule for r in resolved.references)
    kinds = {rule.id: rule.signal.kind for rule in with_example.rules}
    assert kind == "`focus`" or kind == f"`{kinds[used]}`"


def test_the_defaults_of_an_antecedent_are_those_of_the_code() -> None:
    shown = {name: row[1] for name, row in zip(names(rows("key")), rows("key"), strict=True)}
    assert f"{Rule.model_fields['priority'].default} when left out" in shown["priority"]
    text = PAGE.read_text(encoding="utf-8")
    default = AntecedentNeed()
    assert f"default {default.min_score:.2f}: abstain below" in text
    assert f"default {default.min_margin:.2f}: abstain when" in text
    assert f"{default.max_age} the default" in text
    assert f"default {default.decay:.2f} |" in text
