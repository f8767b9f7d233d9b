"""`kds init`, `doctor`, `export`, `mcp`, `serve` and `service`: KDS beside other programs."""
