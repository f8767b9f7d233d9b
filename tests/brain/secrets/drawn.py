"""Values for the templates of `pasted.yaml`: drawn from a seed, so that no token is committed."""

import base64
import random
import re
import string
from collections.abc import Callable
from typing import Final

_LETTERS: Final = string.ascii_letters
_ALNUM: Final = _LETTERS + string.digits
_HEX: Final = "0123456789abcdef"
_WORDS: Final = (
    "sunshine banana dragon monkey football princess butterfly chocolate summer flower purple "
    "whiskey mustang orange cheese guitar pepper hunter letmein maverick yankees ginger"
).split()
_SLOT: Final = re.compile(r"@(?P<kind>[a-z]+?)(?P<size>\d*)@")


def _draw(signs: str, size: int) -> Callable[[random.Random], str]:
    return lambda dice: "".join(dice.choices(signs, k=size))


def _dashed(dice: random.Random) -> str:
    first, last = "".join(dice.choices(_LETTERS, k=4)), "".join(dice.choices(_LETTERS, k=6))
    return first + dice.choice("-_") + last


def _mixed(dice: random.Random) -> str:
    body = [*dice.choices(_ALNUM, k=7), dice.choice("!#%*+?"), dice.choice(string.digits)]
    dice.shuffle(body)
    return dice.choice(_LETTERS) + "".join(body) + dice.choice(_ALNUM)


def _uuid(dice: random.Random) -> str:
    return "-".join("".join(dice.choices(_HEX, k=size)) for size in (8, 4, 4, 4, 12))


def _base64(size: int) -> Callable[[random.Random], str]:
    return lambda dice: base64.b64encode(dice.randbytes(size)).decode()


DRAWN: Final[dict[str, Callable[[random.Random], str]]] = {
    "word": lambda dice: dice.choice(_WORDS),
    "letters": _draw(_LETTERS, 10),
    "dash": _dashed,
    "mixed": _mixed,
    "uuid": _uuid,
    "base64": _base64(30),
    "base64x": _base64(1500),
    "key44": _base64(32),
    "basicpair": lambda dice: base64.b64encode(b"bob:" + dice.randbytes(9)).decode(),
    "upper16": _draw(string.ascii_uppercase + string.digits, 16),
    **{f"alnum{size}": _draw(_ALNUM, size) for size in (16, 20, 24, 32, 36, 40, 43, 48, 64)},
    **{f"hex{size}": _draw(_HEX, size) for size in (7, 8, 12, 16, 17, 32, 40, 48, 64)},
}


def filled(template: str, seed: int) -> tuple[str, list[str]]:
    """Fill each `@kind@` of a template: the text, and the values that were put in."""
    dice = random.Random(seed)
    values: list[str] = []

    def draw(slot: re.Match[str]) -> str:
        values.append(DRAWN[slot["kind"] + slot["size"]](dice))
        return values[-1]

    return _SLOT.sub(draw, template), values
