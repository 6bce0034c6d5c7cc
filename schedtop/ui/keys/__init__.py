"""Bindings, the user's own keys, and their order."""
