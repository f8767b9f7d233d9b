"""`kds memory`: the conversation memory of a workspace."""
