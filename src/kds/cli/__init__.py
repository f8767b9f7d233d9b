"""The command line: `main` is what the `kds` script calls."""

from kds.cli.app import main

__all__ = ["main"]
