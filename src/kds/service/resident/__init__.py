"""The service as a process of a machine: found, started, asked, watched, ended."""
