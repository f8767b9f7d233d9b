"""Where KDS was installed from, and the lines that install it, or an extra of it, again.

The name `kds` belongs to another author's package on PyPI: only the import and the command are
called so. A line that is printed names what this KDS came from, so that it works before KDS is
published anywhere, and never fetches a stranger's package. Libraries that only some parts need
are installed with an extra.
"""

import importlib
import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, distributions, version
from pathlib import Path
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from kds.brain.errors import KdsError

DISTRIBUTION: Final = "kds-router"
"""What pip calls KDS."""

OTHER: Final = "kds"
"""What pip calls another author's package, and called KDS before it was renamed."""

_OUR_SCRIPT: Final = "kds-hook"
"""A program that only KDS installs: it tells an old installation of ours from a stranger's."""


@cache
def kds_version() -> str:
    """The version of the installed KDS, as this process began with it."""
    return version(DISTRIBUTION)


def install_line(extra: str | None = None, *, tool: str = "pip install") -> str:
    """What to type to install KDS, or an ``extra`` of it, from where this one came from."""
    installed = next(_installed(DISTRIBUTION), None)
    requirement = _requirement(installed, extra) if installed else None
    return f"{tool} " + (requirement or f"'.{_bracketed(extra)}', in the clone of KDS")


def load_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module``; a KdsError that names the ``extra`` when it is not installed.

    >>> load_extra("json", extra="eval", purpose="print").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != name:
            raise
        raise KdsError(
            f"'{name}' is needed to {purpose}, and not installed",
            hint=f"{install_line(extra)} (the extra '{extra}' of KDS)",
        ) from error


def other_kds() -> str | None:
    """What is wrong where a distribution called `kds` is installed too, or None.

    Both own the folder `kds` and the command: whichever was installed last has overwritten the
    other, and taking one away breaks the one that stays.
    """
    here = [one.locate_file("") for one in _installed(DISTRIBUTION)][:1]
    for other in _installed(OTHER):
        ours = any(script.name == _OUR_SCRIPT for script in other.entry_points)
        if not ours or other.locate_file("") in here:  # an older KDS in another folder does no harm
            whose = "an older KDS" if ours else "another author's package"
            return f"{whose} is installed too, as '{OTHER}' {other.version}: both own 'kds'"
    return None


def mend_line() -> str:
    """What to type when `other_kds` found something."""
    again = install_line(tool="pip install --force-reinstall --no-deps")
    return f"pip uninstall -y {OTHER}; {again}"


def _requirement(installed: Distribution, extra: str | None) -> str | None:
    """What pip takes for the origin of ``installed``, or None when that is not known."""
    url, origin = _origin(installed)
    name = f"{DISTRIBUTION}{_bracketed(extra)}"
    if url.startswith("file:") and "vcs_info" not in origin:
        path = Path(url2pathname(urlsplit(url).path))
        editable = _part(origin, "dir_info").get("editable") is True
        quoted = shlex.quote(f"{path}{_bracketed(extra)}")
        return (f"-e {quoted}" if editable else quoted) if path.exists() else None
    if "vcs_info" in origin:
        vcs = _part(origin, "vcs_info")
        revision = vcs.get("requested_revision")
        url = f"{vcs.get('vcs', 'git')}+{url}" + (f"@{revision}" if revision else "")
    return shlex.quote(f"{name} @ {url}") if url else None


def _origin(installed: Distribution) -> tuple[str, Mapping[str, object]]:
    """The URL and the whole of `direct_url.json` (PEP 610), else the repository it names."""
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    if isinstance(origin, dict) and isinstance(origin.get("url"), str):
        return origin["url"], origin
    for line in installed.metadata.get_all("Project-URL") or ():
        label, _, url = line.partition(", ")
        if label.lower() in ("repository", "source"):
            return url, {"vcs_info": {"vcs": "git"}}
    return "", {}


def _part(origin: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = origin.get(name)
    return part if isinstance(part, dict) else {}


def _bracketed(extra: str | None) -> str:
    return f"[{extra}]" if extra else ""


def _installed(name: str) -> Iterator[Distribution]:
    """The distributions of that name; a build folder in the current one is none."""
    return (one for one in distributions(name=name) if one.read_text("RECORD") is not None)
