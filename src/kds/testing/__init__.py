"""Dialogue tests, the pytest plugin, and what `kds eval` and `kds metrics` measure."""
