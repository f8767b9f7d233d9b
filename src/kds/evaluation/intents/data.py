"""Messages with the intent each of them should get: JSONL, one object a line (DESIGN 8).

{"text": "commit and push", "intent": "COMMIT"}; a list of intents means any of these; "oos" and
"UNKNOWN" both mean that the message belongs to none.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.turn import UNKNOWN
from kds.evaluation.data_files import Loose
from kds.evaluation.example_rows import AnyOf, Said, read_rows

INTENT_FORM: Final = '{"text": "Make it purple", "intent": "EXECUTE"}'

OUT_OF_SCOPE: Final = frozenset({"OOS", UNKNOWN})
"""In upper case: the intents that say "none of those known"."""


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message, the intents that are right for it, and where it stands ("file:line").

    ``intents`` holds UNKNOWN alone when the message is out of scope.
    """

    text: str
    intents: tuple[str, ...]
    where: str = ""

    @property
    def out_of_scope(self) -> bool:
        """Whether the message belongs to none of the intents."""
        return self.intents == (UNKNOWN,)


class _Message(Loose):
    text: Said
    intent: AnyOf


def load_intents(path: Path) -> tuple[LabelledMessage, ...]:
    """Read a file of messages. Raises ExampleFileError with all its problems at once."""
    return tuple(
        LabelledMessage(row.text, tuple(dict.fromkeys(map(intent_name, row.intent))), where)
        for row, where in read_rows(path, _Message, form=INTENT_FORM)
    )


def intent_name(text: str) -> str:
    """The intent that ``text`` names; every way to say "none of them" is UNKNOWN.

    >>> intent_name(" oos "), intent_name("card_arrival")
    ('UNKNOWN', 'card_arrival')
    """
    name = text.strip()
    return UNKNOWN if name.upper() in OUT_OF_SCOPE else name
