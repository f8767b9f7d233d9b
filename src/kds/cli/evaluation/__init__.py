"""`kds eval` and `kds test`: measuring the router on examples."""
