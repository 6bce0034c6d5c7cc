"""Recordings on their way to the disk."""
