"""The resident service: a warm router behind a unix socket, and HTTP on request."""
