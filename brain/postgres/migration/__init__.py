"""From the files of a workspace to a server: in batches, gone on with after a crash, compared."""
