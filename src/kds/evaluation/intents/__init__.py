"""Intents: data files, scores, plots, and what is wrong with a set of examples."""
