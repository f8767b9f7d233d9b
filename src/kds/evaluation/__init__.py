"""Measuring the router on files of examples, for `kds eval`."""
