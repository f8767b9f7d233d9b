"""KDS: a local-first intent router for developer chat, driven by prompt files."""
