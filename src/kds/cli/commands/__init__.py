"""The commands of `kds`: one module a group."""
