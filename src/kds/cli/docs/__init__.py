"""`kds docs`: the documents of a workspace."""
