"""The documents of a workspace: its files and folders, read into its store."""
