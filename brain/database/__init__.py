"""A SQLite file, looked after: opened, migrated, examined, and wiped of what was deleted."""
