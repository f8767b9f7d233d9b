"""Prompt files: data only, one Markdown file an agent."""
