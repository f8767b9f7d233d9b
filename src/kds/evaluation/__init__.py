"""Fits what ships: the weights of real turns and of written references."""
