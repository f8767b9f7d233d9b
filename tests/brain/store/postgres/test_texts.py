"""Texts of a tenant are what texts in files are, in any order; marks tell their states apart."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from kds.brain.files import LockedText, PrivateFile
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import PostgresText, Tenancy, tenant_number

Act = Callable[[LockedText, bytes], object]

ACTS: dict[str, Act] = {
    "read": lambda text, _: (text.read(), text.aside.read()),
    "replace": lambda text, content: text.replace(content),
    "append": lambda text, content: text.append(content),
    "remove": lambda text, _: text.remove(),
    "set aside": lambda text, content: text.aside.append(content),
    "forget what was": lambda text, _: text.aside.remove(),
}
CONTENTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.booleans(), CONTENTS), max_size=12),
)
def test_both_engines_are_alike(shared_server: Server, acts: list[tuple[str, bool, str]]) -> None:
    number = tenant_number(shared_server, ("acme", uuid4().hex, "shop"))
    tenancy = Tenancy(shared_server, number)
    with TemporaryDirectory() as folder:
        file, row = (
            PrivateFile(Path(folder) / "x"),
            PostgresText(lambda: nullcontext(tenancy), "x", tenancy.place),
        )
        for name, borrows, content in acts:
            found = []
            for text in (file, row):
                if borrows:
                    with text.locked(timeout_s=5) as held:
                        found.append(ACTS[name](held, content.encode()))
                else:
                    found.append(ACTS[name](text, content.encode()))
            assert found[0] == found[1], name
        assert ACTS["read"](file, b"") == ACTS["read"](row, b"")
