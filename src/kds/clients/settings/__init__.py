"""Settings files of assistants, which belong to the user: our entries in them, and no more."""
