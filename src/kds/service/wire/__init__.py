"""The HTTP side of the service: what goes over the wire, and the doors in front of it."""
