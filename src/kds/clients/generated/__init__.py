"""Files that KDS writes for assistants: skills, prompt files, plugins, standing rules."""
