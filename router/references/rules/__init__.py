"""Reference and entity rules: data only, one YAML file a family."""
