"""Node, where there is one: the JavaScript half of the contract is run by it."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kds.transit

FOLDER = Path(kds.transit.__file__).parent
TIMEOUT_S = 120

RunNode = Callable[[str, Any], Any]


@pytest.fixture(scope="session")
def node() -> RunNode:
    """Run a module's text, in which `given` is a value and `done(value)` hands one back."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("the JavaScript client needs Node 18 or newer (apt-get install nodejs)")

    def run(text: str, given: Any) -> Any:
        prelude = (
            f'import {{ transit, tokens }} from "{(FOLDER / "history.mjs").as_uri()}";\n'
            f'import {{ QueryClient, QueryError }} from "{(FOLDER / "client.mjs").as_uri()}";\n'
            'import { readFileSync } from "node:fs";\n'
            "const given = JSON.parse(readFileSync(0));\n"
            "const done = (value) => console.log(JSON.stringify(value));\n"
        )
        ended = subprocess.run(
            [program, "--input-type=module", "-e", prelude + text],
            input=json.dumps(given), capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return run
