"""A real service with its page, in a temporary workspace: for pictures."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

WAIT_S: Final = 120.0


class Page(httpx.Client):
    """A browser that runs no scripts."""

    def csrf(self) -> str:
        """The proof that a form is of this visit."""
        return self.get("/chat").text.split('name="csrf" value="', 1)[1].split('"', 1)[0]

    def send_form(self, path: str, files: Any = None, **fields: str) -> httpx.Response:
        """Send a form."""
        return self.post(path, data={"csrf": self.csrf(), **fields}, files=files).raise_for_status()


class Place:
    """A workspace with a running service."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.root, self.environ = root, environ

    def kds(self, *words: str) -> str:
        """What a command of KDS prints."""
        command = [sys.executable, "-P", "-m", "kds", *words]
        done = subprocess.run(
            command, env=self.environ, cwd=self.root, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def web(self) -> tuple[str, str]:
        """The page's address, and a link that lets one browser in."""
        told = json.loads(self.kds("web", "--no-open", "--json"))
        return told["url"], told["login"]

    @contextmanager
    def visitor(self) -> Iterator[Page]:
        """A client that has logged in."""
        url, link = self.web()
        with Page(base_url=url, timeout=WAIT_S, follow_redirects=True) as page:
            page.get(link).raise_for_status()
            yield page


@contextmanager
def workspace(model: str) -> Iterator[Place]:
    """A temporary workspace, whose service asks the model at this address."""
    with tempfile.TemporaryDirectory(prefix="kds") as name:
        environ = {one: value for one, value in os.environ.items() if not one.startswith("KDS_")}
        environ |= {
            "KDS_HOME": name, "XDG_CONFIG_HOME": f"{name}/config", "KDS_MODEL": f"{model}#m",
        }  # fmt: skip
        place = Place(Path(name), environ)
        (place.root / "kds-brain").mkdir()
        try:
            yield place
        finally:
            place.kds("service", "stop")
