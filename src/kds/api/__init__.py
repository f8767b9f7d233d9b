"""The router put together: routes, conversations and records of a workspace, for every surface."""
