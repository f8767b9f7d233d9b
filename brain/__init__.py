"""Values, errors, settings and the conversation context: what the rest stands on."""
