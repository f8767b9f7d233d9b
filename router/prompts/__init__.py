"""Prompt files: read, checked, rendered in a sandbox, and the library of all of them."""
