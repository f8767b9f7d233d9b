"""`kds learn` and `kds forget`: what corrections taught, and forgetting it."""
