"""Agents made from prompt files, and their LangChain interface."""
