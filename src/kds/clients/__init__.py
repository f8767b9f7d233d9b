"""KDS inside coding assistants: their skills, prompts, plugins and hook settings."""
