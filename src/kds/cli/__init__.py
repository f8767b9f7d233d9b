"""The command line: `main` is what the `kds` script calls, and the service with it."""

import os

# Set before NumPy is loaded. The matrices here are small: with two threads OpenBLAS takes four
# times the CPU for the same products, since each waits for the other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from kds.cli.main import main

__all__ = ["main"]
