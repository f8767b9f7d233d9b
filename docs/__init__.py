"""The pages of the documentation: data only, for `kds help TOPIC`."""
