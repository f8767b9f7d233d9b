"""`kds prompts`, `rules` and `intents`: checking the files that a user writes."""
