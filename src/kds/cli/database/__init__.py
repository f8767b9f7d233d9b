"""`kds db`: the server that keeps conversations for many."""
