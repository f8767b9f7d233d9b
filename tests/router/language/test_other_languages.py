"""Whether a message is in another language than English."""

from pathlib import Path

import pytest
import yaml

from kds.router.language.other_languages import is_foreign

FOREIGN = yaml.safe_load(Path(__file__).with_name("foreign_messages.yaml").read_text("utf-8"))
DIALOGUES = Path(__file__).parents[2] / "dialogues"


@pytest.mark.parametrize("language", FOREIGN)
def test_a_message_in_another_language_is_seen(language: str) -> None:
    unseen = [message for message in FOREIGN[language] if not is_foreign(message, doubted=True)]
    assert unseen == []


def test_no_message_of_the_dialogues_is_taken_for_foreign() -> None:
    said = [
        turn["user"]
        for file in sorted(DIALOGUES.glob("*.yaml"))
        for dialogue in yaml.safe_load(file.read_text("utf-8"))
        for turn in dialogue["turns"]
    ]
    assert len(said) > 500
    found = [message for message in said if is_foreign(message, doubted=True)]
    assert found == ["ajoute encore un bouton rouge ici"]  # it is: the dialogue is about that


def test_code_says_nothing_about_the_language() -> None:
    code = "```python\nder = das + dem  # ist nicht kaputt\n```"
    assert not is_foreign(f"why does it fail?\n{code}")
    assert is_foreign(f"warum geht das nicht?\n{code}")


def test_one_short_foreign_word_tells_nothing_while_the_intent_is_clear() -> None:
    assert not is_foreign("danke")
    assert is_foreign("danke", doubted=True)
