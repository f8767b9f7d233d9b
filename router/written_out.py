"""How large a regular expression is: `regex` writes the least count of every repeat out.

`(?:a{9999}){9999}` has 17 characters, and takes gigabytes to compile.
"""

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<comment> \(\?\#[^)]*\) )
      | (?P<verbose> \(\?[a-zA-Z0-9]*x )
      | (?P<open> \( )
      | (?P<close> \) )
      | \{ (?P<times>\d+) (?:,\d*)? \}
      | \\. | \[\^?\]? (?:\\.|[^\]\\])* \] | .
    """,
    re.VERBOSE | re.DOTALL,
)


def written_out(source: str) -> int | None:
    r"""The characters, classes and groups of a regex with its repeats written out.

    None where spaces and comments do not count (the flag `x`): its parts cannot be told then.

    >>> written_out(r"[a-f]{8}-\d{4,}"), written_out("(?:a{99}){99}b*"), written_out("(?x)a")
    (13, 10001, None)
    """
    sizes, last = [0], 0
    for token in _TOKEN.finditer(source):
        match token.lastgroup:
            case "verbose":
                return None
            case "comment":
                continue  # what is repeated stands before it
            case "open":
                sizes.append(0)
                last = 0
                continue
            case "close":
                last = sizes.pop() if len(sizes) > 1 else 1
            case "times":
                more = max(int(token["times"]) - 1, 0) * last
                last, sizes[-1] = last + more, sizes[-1] + more
                continue
            case _:
                last = 1
        sizes[-1] += last
    return sum(sizes)
