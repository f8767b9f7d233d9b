"""The command line: `main` is what the `kds` script calls."""

from kds.cli.main import main

__all__ = ["main"]
