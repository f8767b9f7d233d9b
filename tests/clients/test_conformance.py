"""The conformance suite of the Model Context Protocol against `kds mcp --http`."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .token_proxy import serving_mcp

BASELINE = Path(__file__).with_name("conformance-baseline.yml")
TIMEOUT_S = 300


def test_the_suite_fails_only_where_it_wants_its_own_example_server(
    npm: Path, tmp_path: Path, fitted_brain: Path
) -> None:
    suite = npm / "conformance"
    if not suite.exists():
        pytest.skip(f"no conformance in {npm}; run `make test-clients`")
    shutil.copytree(fitted_brain, tmp_path / "kds-brain")
    with serving_mcp(tmp_path) as url:
        done = subprocess.run(
            [npm / "node", suite, "server", "--url", url, "--suite", "all",
             "--expected-failures", BASELINE, "--output-dir", tmp_path / "results"],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    passed = set(re.findall(r"^✓ ([\w-]+): ", done.stdout, re.MULTILINE))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert passed >= {
        "server-initialize", "ping", "tools-list", "tools-call-error",
        "server-sse-multiple-streams", "resources-list", "prompts-list",
        "dns-rebinding-protection",
    }  # fmt: skip
