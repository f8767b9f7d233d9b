"""From a message to an agent prompt: load, resolve, expand, classify, dispatch, log."""
