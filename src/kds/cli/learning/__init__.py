"""`kds learn` and `kds amnesia`: what corrections taught, and forgetting it."""
